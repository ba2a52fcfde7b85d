/** The sandboxes of servers: finds problems of `servers[].sandbox`, and builds what it says. */

import { basename, isAbsolute, join, relative, resolve } from "node:path";
import { PRIVATE_FOLDER_NAME } from "../system/private-folder.ts";
import type { AllowedHost } from "../upstream/egress/egress.ts";
import type { ServerConfiguration, ServerSandbox } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import type { ServerEntry } from "./settings/server-settings.ts";
import type { Settings } from "./settings/settings.ts";

type SandboxEntry = NonNullable<ServerEntry["sandbox"]>;

const USUAL_PORTS = [443, 80];
const DEFAULT_MEMORY_MB = 512;
/** Names that only a private network can have (RFC 6762, section 3 and appendix G; RFC 8375; ICANN's `.internal`), and those without a dot. */
const PRIVATE_NAME = /^[^.]+$|\.(?:internal|intranet|private|corp|home|lan|local|home\.arpa)$/;
function allowedHost(entry: NonNullable<SandboxEntry["network"]>[number]): AllowedHost {
  const { host: text, private: isPrivate } = entry;
  const [, host = "", port] = /^(.*?)(?::(\d+))?$/.exec(text.toLowerCase()) ?? [];
  return {
    host,
    ports: port === undefined ? USUAL_PORTS : [Number(port)],
    isPrivate: isPrivate ?? PRIVATE_NAME.test(host),
  };
}

/** The sandbox that an entry asks for; `false` where it asks for none, and undefined where it says nothing. */
export function buildServerSandbox(
  { sandbox }: ServerEntry,
  directory: string,
): ServerSandbox | false | undefined {
  if (sandbox === undefined) return undefined;
  if (sandbox === null) return false;
  const { network = [], files = [], memory_mb: memoryMb = DEFAULT_MEMORY_MB } = sandbox;
  return {
    network: network.map(allowedHost),
    files: files.map(({ path, write = false }) => ({ path: resolve(directory, path), write })),
    memoryMb,
  };
}

/**
 * The sandbox of a server under `sandbox.servers`; undefined if it runs as a process of this machine. Without an entry of its own it
 * has one in which it reaches nothing.
 */
export function sandboxOf(
  server: ServerConfiguration,
  mode: Settings["sandbox"]["servers"],
): ServerSandbox | undefined {
  if (server.transport !== "stdio" || server.sandbox === false) return undefined;
  if (server.sandbox !== undefined) return server.sandbox;
  if (mode === "off") return undefined;
  return { network: [], files: [], memoryMb: DEFAULT_MEMORY_MB };
}

/** Problems of the sandboxes of servers with valid keys and types. */
export function findServerSandboxProblems(
  servers: readonly ServerEntry[],
  mode: Settings["sandbox"]["servers"],
  { file, directory }: { file: string | undefined; directory: string },
): Problem[] {
  return servers.flatMap((server, index): Problem[] => {
    const { sandbox } = server;
    const path = ["servers", index, "sandbox"];
    if (sandbox === undefined) return [];
    if (sandbox === null)
      return mode === "required"
        ? [{ path, message: "cannot be false where `sandbox.servers` is required; remove one of the two" }]
        : [];
    if (server.command === undefined)
      return [{ path, message: "goes with a `command` alone: a server over HTTP runs elsewhere; remove it" }];
    return (sandbox.files ?? []).flatMap((entry, at): Problem[] => {
      if (entry.write !== true) return [];
      const mounted = resolve(directory, entry.path);
      const settings = file === undefined ? undefined : join(directory, basename(file));
      const held = [join(directory, PRIVATE_FOLDER_NAME), ...(settings === undefined ? [] : [settings])];
      const [open] = held.filter((each) => isWithin(each, mounted));
      if (open === undefined) return [];
      const message = `would let the server write ${relative(directory, open) || open}, which says what it may do; name a folder that does not contain it`;
      return [{ path: [...path, "files", at, "path"], message }];
    });
  });
}

/** Whether a path is a folder, or something in it. Both are absolute. */
export function isWithin(path: string, folder: string): boolean {
  const from = relative(folder, path);
  return from !== ".." && !from.startsWith("../") && !isAbsolute(from);
}
