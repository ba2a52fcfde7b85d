import { afterAll, beforeAll, describe } from "vitest";
import type { RunnerName } from "../../../protocol/runners.ts";
import { ClusterNamespace, whyNoCluster } from "./namespace.ts";

export { killDaemon, LIMITS, makeCertificates, TEST_CLUSTER } from "./namespace.ts";

/** `describe` for what needs a cluster. Where there is none the tests are skipped, and their title says why. */
export function describeClustered(name: string, tests: () => void): void {
  const problem = whyNoCluster();
  if (problem === "") describe(name, tests);
  else describe.skip(`${name} (skipped: ${problem})`, tests);
}

/** A namespace of the cluster with pods for programs, for the tests of one `describe`. */
export class TestNamespace extends ClusterNamespace {
  /** Starts the cluster unless it runs, and makes the namespace. Has the hooks of the surrounding `describe` do both. */
  use({ replicas = 3, runners = ["javascript"] }: { replicas?: number; runners?: RunnerName[] } = {}): this {
    beforeAll(() => this.open(replicas, runners));
    afterAll(() => this.close());
    return this;
  }
}
