/** What a first user does with the package as it is published: two commands, from an empty folder and an empty home, without root, Docker and gVisor. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
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
