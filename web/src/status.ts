// What `multihop route status` tells, and what has changed between two of its documents.

export interface Status {
  protocol: string;
  main_address: string | null;
  seconds: number;
  interfaces: Interface[];
  neighbours: Neighbour[];
  routes: Record<string, Route>;
  datagrams: Record<string, number>;
  messages: Record<string, number>;
  [counter: string]: unknown;
}

export interface Interface {
  name: string;
  address: string | null;
  queue: { kind: string; bytes: number; wait: number | null } | null;
  channel_busy: number | null;
}

/** Seconds; `null` where nothing measures a part. */
export type Delay = Record<"hellos" | "queue" | "transmission", number | null>;

export interface Neighbour {
  address: string;
  main_address: string;
  interface: string;
  heard_ago: number;
  /** `null` under AODV, whose packets have no numbers. */
  received: number | null;
  symmetric: boolean;
  relay: boolean;
  selector: boolean;
  /** `null` if routes are not chosen by delay. */
  delay: Delay | null;
}

export interface Route {
  via: string | null;
  interface: string;
  hops: number | null;
  cost: number | null;
}

/** The address of one host, `null` if the destination is a network. */
export function hostOf(destination: string): string | null {
  const [address = "", bits] = destination.split("/");
  return bits === (address.includes(":") ? "128" : "32") ? address : null;
}

/** A destination in few characters. */
export function named(destination: string): string {
  const isDefault = destination === "0.0.0.0/0" || destination === "::/0";
  return isDefault ? "all others" : (hostOf(destination) ?? destination);
}

/** What is different, in words. */
export function changes(before: Status, after: Status): string[] {
  const found: string[] = [];
  if (before.main_address !== after.main_address) {
    found.push(`The main address is ${after.main_address ?? "missing"}`);
  }
  const [old, now] = [before, after].map((status) => new Map(status.neighbours.map((neighbour) => [neighbour.address, neighbour.symmetric])));
  for (const [address, symmetric] of now as Map<string, boolean>) {
    if (symmetric !== (old?.get(address) ?? false)) {
      found.push(symmetric ? `Link to ${address}` : `No link to ${address} any more`);
    }
  }
  for (const address of [...(old?.keys() ?? [])].filter((one) => old?.get(one) === true && now?.has(one) !== true)) {
    found.push(`No link to ${address} any more`);
  }
  for (const [to, route] of Object.entries(after.routes)) {
    const known = before.routes[to];
    if (known === undefined || known.via !== route.via || known.hops !== route.hops) {
      found.push(`Route to ${named(to)}: ${way(route)}`);
    }
  }
  for (const to of Object.keys(before.routes).filter((one) => after.routes[one] === undefined)) {
    found.push(`No route to ${named(to)} any more`);
  }
  return found;
}

function way({ via, hops }: Route): string {
  if (via === null) return "direct";
  return hops === null ? `through ${via}` : `through ${via}, ${hops} hops`;
}
