import { describe, expect, test } from "vitest";
import { WITHOUT_POSTGRES } from "../../archive/postgres/server.ts";
import { usePtc } from "../../cli/ptc-process.ts";
import { kubernetesSoak, whyNoKubernetesSoak } from "./kubernetes-soak.ts";

/** Two minutes on a quiet machine. */
const PATIENCE_MS = 15 * 60_000;
const project = usePtc();
const problem = whyNoKubernetesSoak();
const skipped = WITHOUT_POSTGRES || (problem === "" ? "" : ` (skipped: ${problem})`);

describe.skipIf(skipped !== "")(`a short soak of two replicas in a cluster${skipped}`, () => {
  test(
    "answers, records and sweeps as it must, whatever of the cluster is killed, and upgrades without a lost run",
    async () => {
      const folder = project();
      const checks = await kubernetesSoak({
        directory: folder.directory,
        command: folder.command([]),
        ...{ programs: 40, inFlight: 4, kills: 1 },
        say: () => {},
      });
      expect(checks).not.toHaveLength(0);
      expect(checks.filter(({ holds }) => !holds)).toEqual([]);
    },
    PATIENCE_MS,
  );
});
