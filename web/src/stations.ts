// The stations of a network: the radios of its nodes. With one radio at each node, a station has the number of its node.

import type { Network } from "./protocol";

export interface Station {
  node: number;
  radio: number;
  /** The name of the node, with the number of the radio if there are several. */
  name: string;
}

export class Stations {
  /** Node by node, and for each one by radio. */
  readonly all: Station[] = [];
  private readonly numbers: number[] = [];
  private readonly radios: number;

  constructor({ nodes, radios }: Network) {
    this.radios = radios.length;
    nodes.forEach(({ name }, node) => {
      radios.forEach((about, radio) => {
        const has = about.nodes === null || about.nodes.includes(node);
        this.numbers.push(has ? this.all.length : -1);
        if (has) {
          this.all.push({ node, radio, name: radios.length > 1 ? `${name}·${radio}` : name });
        }
      });
    });
  }

  /** The number of a node's radio; -1 if it has none, or is no node. */
  of(node: number, radio: number): number {
    return this.numbers[node * this.radios + radio] ?? -1;
  }

  /** The numbers of a node's radios. */
  ofNode(node: number): number[] {
    return Array.from({ length: this.radios }, (_, radio) => this.of(node, radio)).filter((station) => station >= 0);
  }
}

/** A radio in words, where nodes have several: its number, physical layer and channel. */
export function radioName({ radios }: Network, radio: number): string {
  const about = radios[radio];
  const channel = about?.channel ?? null;
  return `radio ${radio}: ${about?.phy ?? ""}${channel === null ? "" : `, channel ${channel}`}`;
}

/** Metres over which some radio is decoded. */
export function decodeRange({ radios }: Network): number {
  return Math.max(...radios.map(({ decode_range }) => decode_range));
}
