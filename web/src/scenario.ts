// The scenario of the page: as multihop view wrote it, or as the reader has changed it. The address holds the changes.

import { get } from "./dom";
import type { Result } from "./protocol";

/** A request to the simulator's module. */
export interface Request {
  text: string;
  json: boolean;
  name: string;
  overrides: [string, string][];
}

/** What `multihop view` writes into the page. */
interface Page {
  request: Request;
  result: Result | null;
}

/** The request to simulate, and the result of `multihop run` if the request is the one that it ran. */
export function page(): Page {
  const { request, result } = JSON.parse(get("request").textContent ?? "") as Page;
  const address = new URLSearchParams(location.hash.slice(1));
  const [text, set] = [unpacked(address.get("scenario")), unpacked(address.get("set"))];
  if (text === null && set === null) {
    return { request, result };
  }
  return { request: { ...request, text: text ?? request.text, overrides: set === null ? request.overrides : overrides(set) }, result: null };
}

/** The parts of the address that hold the changes, for an address that keeps them. */
export function keptParts(): string[] {
  const address = new URLSearchParams(location.hash.slice(1));
  return ["scenario", "set"].filter((key) => address.has(key)).map((key) => `${key}=${address.get(key)}`);
}

/** Lets the reader change the scenario, and simulates the change in a fresh page. */
export function editScenario(request: Request): void {
  const text = get<HTMLTextAreaElement>("text");
  const set = get<HTMLTextAreaElement>("set");
  text.value = request.text;
  set.value = request.overrides.map(([key, value]) => `${key}=${value}`).join("\n");
  get("simulate").addEventListener("click", () => {
    location.hash = `scenario=${packed(text.value)}&set=${packed(set.value)}`;
    location.reload();
  });
  get("original").addEventListener("click", () => {
    history.replaceState(null, "", "#");
    location.reload();
  });
}

/** Lines of `key=value`; a line without `=` is left to the simulator to refuse. */
function overrides(lines: string): [string, string][] {
  const filled = lines.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return filled.map((line) => {
    const [key, ...value] = line.split("=");
    return [(key as string).trim(), value.join("=").trim()];
  });
}

/** Text as letters, digits, `-` and `_`. */
function packed(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The text, or null if there is none or it is damaged. */
function unpacked(letters: string | null): string | null {
  try {
    const plain = atob((letters ?? "*").replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder().decode(Uint8Array.from(plain, (letter) => letter.charCodeAt(0)));
  } catch {
    return null;
  }
}
