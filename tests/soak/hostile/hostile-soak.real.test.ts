import { expect, test } from "vitest";
import { usePtc } from "../../cli/ptc-process.ts";
import { describeSandboxed } from "../../sandbox/in-sandbox.ts";
import { hostileSoak } from "./hostile-soak.ts";

const project = usePtc();

/** Programs take minutes on a machine that others use. */
const PATIENCE_MS = 600_000;

describeSandboxed("one hostile person beside eight others", () => {
  test(
    "changes nobody's answers, is seen by nobody, and holds up nobody",
    async () => {
      const folder = project();
      const checks = await hostileSoak({
        directory: folder.directory,
        command: folder.command([]),
        ...{ clients: 8, programs: 1 },
        say: () => {},
      });
      expect(checks).not.toHaveLength(0);
      expect(checks.filter(({ holds }) => !holds)).toEqual([]);
    },
    PATIENCE_MS,
  );
});
