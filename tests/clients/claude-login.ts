import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { eventually } from "../eventually.ts";
import type { ScriptedBrowser } from "../upstream/authorization/servers/browser.ts";
import { type Command, runClient } from "./installed-client.ts";

/** Has Claude Code log in at the server `ptc`. The browser that it opens is the given one. Resolves with where that ends. */
export async function logInFromTerminal(
  claude: Command,
  { home, env }: { home: string; env: Record<string, string | undefined> },
  browser: ScriptedBrowser,
): Promise<{ url: string; status: number }> {
  const programs = mkdtempSync(join(home, "browser-"));
  const asked = join(programs, "asked");
  for (const name of ["xdg-open", "open", "browser"])
    writeFileSync(join(programs, name), `#!/bin/sh\nprintf %s "$1" > ${asked}\n`, { mode: 0o755 });
  // Claude Code logs in at a terminal alone.
  const terminal = ["/usr/bin/script", "-qec", `${claude.join(" ")} mcp login ptc`, "/dev/null"] as const;
  const login = runClient(terminal, [], {
    cwd: home,
    env: { ...env, PATH: `${programs}:${process.env.PATH}`, BROWSER: join(programs, "browser") },
  });
  await eventually(() => expect(existsSync(asked)).toBe(true));
  const ended = await browser.open(readFileSync(asked, "utf8"));
  expect(await login).toMatchObject({ code: 0 });
  return ended;
}
