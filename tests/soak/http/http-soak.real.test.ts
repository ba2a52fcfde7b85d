import { expect, test } from "vitest";
import { WITHOUT_POSTGRES } from "../../archive/postgres/server.ts";
import { usePtc } from "../../cli/ptc-process.ts";
import { describeSandboxed } from "../../sandbox/in-sandbox.ts";
import { httpSoak } from "./http-soak.ts";

const project = usePtc();

/** Three replicas and their programs take minutes on a machine that others use. */
const PATIENCE_MS = 900_000;

describeSandboxed(`a short soak of three replicas${WITHOUT_POSTGRES}`, () => {
  test.skipIf(WITHOUT_POSTGRES !== "")(
    "records every answered program once, makes its calls once, and tells those whose replica was killed",
    async () => {
      const folder = project();
      const checks = await httpSoak({
        directory: folder.directory,
        command: folder.command([]),
        ...{ clients: 10, programs: 30, kills: 1, restarts: 0 },
        say: () => {},
      });
      expect(checks).not.toHaveLength(0);
      expect(checks.filter(({ holds }) => !holds)).toEqual([]);
    },
    PATIENCE_MS,
  );
});
