import type { RemoteServerConfiguration, ServerConfiguration } from "./configuration.ts";

/** Whether a server is an MCP server somewhere else, which may have a login. */
export function isRemote(server: ServerConfiguration): server is RemoteServerConfiguration {
  return server.transport === "http" || server.transport === "sse";
}

/** What a server is given that is written out in the configuration: variables of commands, else headers. */
export function valuesOf(server: ServerConfiguration): Readonly<Record<string, string>> {
  return "env" in server ? server.env : server.headers;
}
