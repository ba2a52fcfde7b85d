import { existsSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const real = ["tests/**/*.real.test.ts"];

/**
 * Real tests of what does not depend on the engine run on the one that uses less of the processor, runsc. All others run on Docker, and so
 * do those of the project `postgres`.
 */
const onEitherEngine = [
  "tests/{cli,clients,library}/**/!(leftovers).real.test.ts",
  "tests/sandbox/{claims,programs/*}.real.test.ts",
  "tests/scripts/{first-run,start-page}.real.test.ts",
];

/** Tests that measure or disturb the process that they run in. */
const alone = [
  "tests/execution/json-passes.test.ts",
  "tests/upstream/mcp/floods.test.ts",
  "tests/fuzz/fuzz.test.ts",
  "tests/loop/loop.test.ts",
];

/** Tests of commands that read and write what outlives a run. */
const inPostgres = [
  "tests/cli/commands/learn.test.ts",
  "tests/cli/commands/approvals.test.ts",
  "tests/cli/commands/audit.test.ts",
  "tests/cli/commands/runs.real.test.ts",
  "tests/cli/commands/replay/replay.real.test.ts",
  "tests/cli/output.real.test.ts",
  "tests/cli/suspended-runs.real.test.ts",
];

/**
 * Short files that take long. Vitest starts large files first where it knows no earlier times, as in a new checkout, and the last of
 * these would run while all other workers have nothing left.
 */
const LONG = [
  "tests/clients/python-client.real.test.ts",
  "tests/clients/claude-code-dialog.real.test.ts",
  "tests/scripts/first-run.real.test.ts",
  "tests/scripts/start-page.real.test.ts",
  "tests/library/embedded.real.test.ts",
  "tests/sandbox/programs/generated-programs.real.test.ts",
  "tests/clients/inspector.real.test.ts",
  "tests/clients/conformance.real.test.ts",
  "tests/clients/mcporter.real.test.ts",
  "tests/execution/plan/suite/suite.test.ts",
  "tests/execution/plan/plan-property.test.ts",
  "tests/sandbox/wasm/hostile-programs.test.ts",
  "tests/sandbox/wasm/same-results.test.ts",
  "tests/sandbox/wasm/engine-contract.test.ts",
].map((file) => join(import.meta.dirname, file));
for (const file of LONG)
  if (!existsSync(file)) throw new Error(`vitest.config.ts names ${file}, which is not there`);

/** Starts the files first that are known to take long. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONG.indexOf(moduleId);
      return at < 0 ? LONG.length : at;
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

/** Commands run alone, so that no test leaves a process behind. Tests of the background host start and end their own. */
const ENVIRONMENT = { env: { PTC_HOST: "off" } };

/** Real tests share the notes of this machine. */
const SAME_PLATFORM = "tests/sandbox/same-platform.ts";

/** Where tests give commands no Docker, they find no other engine either, whatever the machine has. */
const WITHOUT_ENGINE = { env: { ...ENVIRONMENT.env, PTC_ENGINE: "docker" } };

/** Limits that only a test that hangs reaches, also on a busy machine. */
const PATIENCE = { testTimeout: 180_000, hookTimeout: 180_000, expect: { poll: { timeout: 60_000 } } };

// No test touches the keyring of the user who runs it.
process.env.PTC_KEYRING = "off";

// What Node.js has compiled for one process serves the next: one from sources takes a third of the time.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "node-compile-cache");

/** Many of the fast tests wait for a process or a timer. */
const FAST_WORKERS = Math.ceil(availableParallelism() * 1.5);

/** Most of the real tests wait for sandboxes and servers. */
const REAL_WORKERS = 4;

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          name: "fast",
          include: ["tests/**/*.test.ts"],
          exclude: [...real, ...alone],
          ...PATIENCE,
          ...WITHOUT_ENGINE,
          // With a process for each file, a third of the time would go into starting them.
          isolate: false,
          maxWorkers: FAST_WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "alone",
          include: alone,
          ...PATIENCE,
          ...WITHOUT_ENGINE,
          maxWorkers: FAST_WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          // The same tests as elsewhere, of projects that keep everything in PostgreSQL.
          name: "postgres",
          include: inPostgres,
          ...PATIENCE,
          ...WITHOUT_ENGINE,
          maxWorkers: REAL_WORKERS,
          sequence: { groupOrder: 1 },
          globalSetup: ["tests/archive/postgres/shared-server.ts", "tests/sandbox/require-sandbox.ts"],
          setupFiles: [SAME_PLATFORM],
        },
      },
      {
        test: {
          name: "real",
          include: real,
          exclude: onEitherEngine,
          ...PATIENCE,
          ...ENVIRONMENT,
          maxWorkers: REAL_WORKERS,
          sequence: { groupOrder: 1 },
          globalSetup: ["tests/sandbox/require-sandbox.ts"],
          setupFiles: [SAME_PLATFORM],
        },
      },
      {
        test: {
          name: "real-without-docker",
          include: onEitherEngine,
          ...PATIENCE,
          env: { ...ENVIRONMENT.env, PTC_ENGINE: "runsc" },
          maxWorkers: REAL_WORKERS,
          sequence: { groupOrder: 1 },
          globalSetup: ["tests/sandbox/require-sandbox.ts"],
          setupFiles: ["tests/sandbox/either-engine.ts", SAME_PLATFORM],
        },
      },
    ],
  },
});
