import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * Where on the network something is. `forbidden` is what no metadata may lead to: link-local addresses, among them those at which
 * clouds give out credentials, and addresses that belong to nobody.
 */
export type Zone = "public" | "private" | "loopback" | "forbidden";

const ZONES: Partial<Record<ReturnType<ipaddr.IPv6["range"] | ipaddr.IPv4["range"]>, Zone>> = {
  unicast: "public",
  private: "private",
  uniqueLocal: "private",
  carrierGradeNat: "private",
  loopback: "loopback",
};

const PREFIX_BYTES_OF_NAT64 = 12;

/** The zone of an IP address. IPv4 within IPv6 counts as what it stands for. */
export function zoneOf(address: string): Zone {
  // A scope such as `%eth0` only occurs with link-local addresses.
  if (!ipaddr.isValid(address) || address.includes("%")) return "forbidden";
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  if (range === "rfc6052") return zoneOf(parsed.toByteArray().slice(PREFIX_BYTES_OF_NAT64).join("."));
  return ZONES[range] ?? "forbidden";
}

/** A request is refused because of where it leads. The message goes on after the name of a host. */
export class AddressRefusedError extends Error {
  override readonly name = "AddressRefusedError";
}

/**
 * Decides which addresses the metadata of one server may lead to. A server's metadata says where tokens are asked for, so that
 * otherwise a server could have ptc talk to what only this machine, or only its network, reaches (MCP 2025-11-25, Security Best
 * Practices: "Server-Side Request Forgery").
 *
 * The server itself may be anywhere, because the user configured it. What it leads to is public, or where the server is: on a
 * server on this machine, loopback and private addresses; on one in a private network, private ones. Where a server is, is the
 * address at which it was reached, because what a name stands for can change between two look-ups.
 */
export class AddressGuard {
  readonly #origin: string;
  #zone: Zone | undefined;

  /** @param known where the server was reached before, if it was. */
  constructor(serverUrl: string, known?: Zone) {
    const { origin, hostname } = new URL(serverUrl);
    this.#origin = origin;
    this.#zone = known ?? zoneOfName(hostname);
  }

  /** Where the server is; `undefined` as long as it has a name and was not reached. */
  get zone(): Zone | undefined {
    return this.#zone;
  }

  /** Whether a request to this URL may be made to this address. */
  allows(url: URL, address: string): boolean {
    if (url.origin === this.#origin) return true;
    const zone = zoneOf(address);
    if (zone === "public") return true;
    if (zone === "forbidden") return false;
    return zone === this.#zone || (zone === "private" && this.#zone === "loopback");
  }

  /** Takes note of an address at which a request was made. A server that was once reached at a public one stays public. */
  reached(url: URL, address: string): void {
    if (url.origin !== this.#origin || this.#zone === "public") return;
    this.#zone = zoneOf(address);
  }
}

/** The zone of a host that is no name, or a name that means this machine (RFC 6761, section 6.3). */
function zoneOfName(hostname: string): Zone | undefined {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return zoneOf(host);
  return host === "localhost" || host.endsWith(".localhost") ? "loopback" : undefined;
}
