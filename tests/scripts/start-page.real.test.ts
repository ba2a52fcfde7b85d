/** docs/start.md word for word: what stands in its blocks, as somebody types it who has an empty home folder. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findClaudeCode } from "../clients/installed-client.ts";
import { useOrdinaryUser } from "./ordinary-user.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs/start.md"), "utf8");
const INSTALL = "npm install --global ptc\n";

const user = useOrdinaryUser();
const claude = findClaudeCode();
const without = typeof claude === "string" ? ` (skipped: ${claude})` : "";
/** Nothing but this machine is reached. */
const NOWHERE = "http://127.0.0.1:9";

/** The commands of the page, with its program where the page has one saved. */
function script(): string {
  const blocks = [...PAGE.matchAll(/^```(sh|ts)\n([\s\S]*?)^```/gm)];
  return blocks
    .map(([, language, text = ""]) =>
      language === "sh"
        ? text.replace(INSTALL, `npm install --global ${user.file}\n`)
        : `cat >three.ts <<'EOT'\n${text}EOT\n`,
    )
    .join("");
}

test.skipIf(without !== "")(
  `every command of docs/start.md does what the page says, up to a program over three servers and Claude Code that knows ptc${without}`,
  async () => {
    user.add(
      "claude",
      join(ROOT, `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`),
    );
    const home = mkdtempSync(join(user.folder, "home-"));
    if (process.getuid?.() === 0) execFileSync("chown", ["65534:65534", home]);
    const file = join(user.folder, "start.sh");
    const text = script();
    expect(text).toContain("npm install --global /");
    writeFileSync(file, `set -eu\nPATH=$HOME/npm/bin:$PATH\ncd "$HOME"\nset -x\n${text}`);
    const { code, stdout, stderr } = await user.sh([file], {
      ...{ HOME: home, npm_config_prefix: join(home, "npm") },
      ...{ PTC_HOST: "off", PTC_KEYRING: "off", DISABLE_AUTOUPDATER: "1" },
      ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_TELEMETRY: "1" },
      ...{ HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, NO_PROXY: "127.0.0.1,localhost" },
    });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toContain("ptc is set up. Next: ");
    expect(stdout).toMatch(/"data":"Echo: \d+ files, 0 memories"/);
    expect(stdout).toMatch(/^ptc: .*ptc.* serve/m);
    expect(readFileSync(join(home, "first/ptc.yaml"), "utf8")).toContain("server-everything");
  },
);
