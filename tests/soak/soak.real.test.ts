import { expect, test } from "vitest";
import { usePtc } from "../cli/ptc-process.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { KINDS } from "./kinds.ts";
import { soak } from "./soak.ts";

const project = usePtc();

describeSandboxed("a short soak", () => {
  test("ends every program as it must, fails what was killed alone, and leaves nothing", async () => {
    const folder = project();
    const checks = await soak({
      directory: folder.directory,
      command: folder.command([]),
      runs: KINDS.length,
      inFlight: 4,
      kills: 1,
      say: () => {},
    });
    expect(checks).not.toHaveLength(0);
    expect(checks.filter(({ holds }) => !holds)).toEqual([]);
  });
});
