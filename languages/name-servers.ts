import { listUpTo } from "../base/visible-text.ts";
import type { ModuleSource } from "./module-source.ts";

const MAX_SERVERS_CHARS = 200;

/** The servers there are, where they are few enough to be named. */
export function nameServers(source: ModuleSource): string {
  const modules = source.modules();
  if (modules.length === 0) return "";
  return ` (servers: ${listUpTo(modules, MAX_SERVERS_CHARS)})`;
}
