import { defineConfig } from "vitest/config";

const real = ["tests/**/*.real.test.ts"];

/** Commands run alone, so that no test leaves a process behind. Tests of the background host start and end their own. */
const ENVIRONMENT = { env: { PTC_HOST: "off" } };

/** Limits that only a test that hangs reaches, also on a busy machine. */
const PATIENCE = { testTimeout: 180_000, hookTimeout: 180_000, expect: { poll: { timeout: 60_000 } } };

// No test touches the keyring of whoever runs it.
process.env.PTC_KEYRING = "off";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "fast",
          include: ["tests/**/*.test.ts"],
          exclude: real,
          ...PATIENCE,
          ...ENVIRONMENT,
          // Many of these tests wait for a process or a timer.
          maxWorkers: "100%",
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "real",
          include: real,
          ...PATIENCE,
          ...ENVIRONMENT,
          // Most of them wait for containers and servers.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          globalSetup: ["tests/sandbox/require-sandbox.ts"],
        },
      },
    ],
  },
});
