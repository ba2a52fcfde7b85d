import type { Configuration } from "./configuration.ts";

/** The servers that are off, by module, each with the reason and what to do. */
export function offServers({ servers }: Pick<Configuration, "servers">): ReadonlyMap<string, string> {
  return new Map(servers.flatMap(({ module, off }) => (off === undefined ? [] : [[module, off]])));
}

/** One line for each server that is off, for a person who may not have noticed. */
export function describeOffServers({ servers }: Pick<Configuration, "servers">): string[] {
  return servers.flatMap(({ name, off }) => (off === undefined ? [] : [`server '${name}' is off: ${off}`]));
}
