import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";

it("what runs programs is loaded without the fetch of Node.js, which takes longer to load than much of it", () => {
  const host = import.meta.resolve("../../project/open-host.ts");
  const script = `await import("${host}"); process.stdout.write(process.moduleLoadList.join("\\n"));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
  });
  expect(stdout.split("\n"), stderr).toContain("NativeModule crypto");
  expect(stdout).not.toMatch(/undici/);
});
