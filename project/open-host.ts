import { composition } from "./composition.ts";
import { Host, type HostOptions } from "./host.ts";

/** Opens a host for one command. Importing this module loads everything that runs programs. */
export function openHost(options: HostOptions): Host {
  return new Host(options, async () => composition);
}
