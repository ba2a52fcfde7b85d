/**
 * What ptc and the launcher in the sandbox of a server (runner-image/server) say to each other. ptc opens two streams, or three; the
 * launcher opens one for each connection of the server, and one for each name that the server asked for and may not reach.
 */

import * as z from "zod/mini";

/** The labels of the streams that ptc opens. */
export const LAUNCH_STREAMS = {
  /** ptc sends a {@link ServerLaunch} and ends; the launcher sends a {@link ServerEnd} when the server has ended. */
  launch: "launch",
  /** The server's stdin and stdout, where the server has no sockets of its own for them. */
  messages: "messages",
  /** The server's stderr. */
  errors: "errors",
} as const;

/** Begin the arguments with the numbers of the launcher's sockets that are to be the server's stdin and stdout. */
export const LAUNCHER_STDIO = ["--stdin=", "--stdout="] as const;

export const SERVER_LAUNCHER_PATH = "/opt/ptc/server.mjs";
/** The folder that holds all that is mounted for a server. */
export const SERVER_FOLDER = "/srv";
/** Where the folder of ptc.yaml would be: files that are mounted for a server keep their relative paths below it. */
export const SERVER_PROJECT = `${SERVER_FOLDER}/project`;
/** Files that are mounted for a server from elsewhere keep their absolute paths below it. */
export const SERVER_FILES = `${SERVER_FOLDER}/files`;

/** How the launcher starts the server. */
export interface ServerLaunch {
  command: string;
  args: readonly string[];
  /** All variables. */
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Where the launcher listens for the connections to each host that has an address inside. */
  hosts: readonly { host: string; address: string; ports: readonly number[] }[];
  /** Names that have no address until they are asked for, such as `*.example.com`, with their ports. */
  patterns: readonly { pattern: string; ports: readonly number[] }[];
}

/** How the server ended. */
export const ServerEnd = z.object({
  code: z.optional(z.nullable(z.int())),
  signal: z.optional(z.nullable(z.string().check(z.maxLength(32)))),
  /** Why it was not started: the code of `spawn`, such as ENOENT. */
  error: z.optional(z.string().check(z.maxLength(256))),
});
export type ServerEnd = z.infer<typeof ServerEnd>;

/** The label of a stream that the launcher opens, as JSON. */
export const LauncherRequest = z.discriminatedUnion("kind", [
  /** The bytes of a connection to a host and port. */
  z.object({ kind: z.literal("connect"), host: z.string().check(z.maxLength(253)), port: z.int() }),
  /** The server asked for a name that it may not reach. The stream has no bytes. */
  z.object({ kind: z.literal("unknown"), host: z.string().check(z.maxLength(253)) }),
]);
export type LauncherRequest = z.infer<typeof LauncherRequest>;

/** Whether a host name fits a pattern whose `*` stands for one or more labels. Both are in lower case. */
export function matchesHost(host: string, pattern: string): boolean {
  if (!pattern.startsWith("*.")) return host === pattern;
  return host.length > pattern.length - 1 && host.endsWith(pattern.slice(1));
}
