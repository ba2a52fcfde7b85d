import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Served, serveMcp } from "./mcp-client.ts";

const EXECUTOR = join(import.meta.dirname, "../node_modules/.bin/executor");

/** `executor mcp`, which runs programs in its own process and isolates nothing; `undefined` when it is not installed. */
export async function serveExecutor(scope: string): Promise<Served | undefined> {
  if (!existsSync(EXECUTOR)) return undefined;
  const home = join(scope, "home");
  mkdirSync(home, { recursive: true });
  return serveMcp(EXECUTOR, ["mcp", "--scope", scope], { env: { ...process.env, HOME: home }, cwd: scope });
}
