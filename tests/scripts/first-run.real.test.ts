/** What a first user does with the package as it is published: two commands, from an empty folder and an empty home, without root, Docker and gVisor. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { useOrdinaryUser } from "./ordinary-user.ts";

const SCRIPT = join(import.meta.dirname, "../../scripts/try-package.sh");
/** What the commands may put on a disk: the package with what it needs, and the servers that it runs. */
const MAX_MEGABYTES = { installed: 110, home: 150 };

const user = useOrdinaryUser();

test("an ordinary user without Docker and gVisor has a first answer of a program over real servers in two commands, without a development dependency", async () => {
  const script = join(user.folder, "try-package.sh");
  copyFileSync(SCRIPT, script);
  const { code, stdout, stderr } = await user.sh([script, user.file]);
  expect({ code, stderr }).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("ptc is set up. Next: "),
  });
  const took = JSON.parse(stdout);
  expect(took).toMatchObject({ commands: 2, status: "ok", calls: 1 });
  expect(took.megabytes.installed).toBeLessThan(MAX_MEGABYTES.installed);
  expect(took.megabytes.home).toBeLessThan(MAX_MEGABYTES.home);
  expect(stderr).toContain("6/6  program  done: ");
  console.log(`first answer: ${stdout.trim()}`);
});

const runscProblem =
  inject("testedEngine") === "runsc" ? inject("sandboxProblem") : inject("otherEngineProblem");

test.skipIf(runscProblem !== "")(
  "an ordinary user's sandboxes are restored from a snapshot where gVisor is",
  async () => {
    const command = `
      set -e
      HOME=$(mktemp -d)
      trap 'rm -rf "$HOME"' EXIT
      export HOME
      npm install --silent --no-audit --no-fund --prefix "$HOME/app" "$0" >&2
      export PATH="$HOME/app/node_modules/.bin:$PATH" PTC_HOST=off
      mkdir -p "$HOME/restored" && cd "$HOME/restored"
      echo 'sandbox: { engine: runsc, allow_weaker_isolation: true }' >ptc.yaml
      echo 'globalThis.result = Math.random() + "";' >random.ts
      # What doctor measures of gVisor's platforms decides of which one the snapshot is.
      ptc image build >&2
      measured=$(ptc doctor || true)
      echo "$measured" >&2
      used=$(echo "$measured" | sed -n 's/^.*platform *\\([a-z]*\\) is used: .*$/\\1/p')
      ptc image build >&2
      ptc run random.ts && ptc run random.ts
      # The next measurement may be another on a busy machine.
      PTC_RUNSC_PLATFORM=$used ptc doctor || true`;
    const { code, stdout, stderr } = await user.sh(["-c", command, user.file]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const [one = "", two = ""] = stdout.split("\n").map((line) => /"data":"([\d.]+)"/.exec(line)?.[1] ?? "");
    expect(one).toMatch(/^0\.\d+$/);
    expect(two).toMatch(/^0\.\d+$/);
    expect(one).not.toBe(two);
    expect(stdout).toContain("sandboxes are restored from one");
  },
);
