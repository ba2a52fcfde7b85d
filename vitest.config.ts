import { defineConfig } from "vitest/config";

const real = ["tests/**/*.real.test.ts"];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "fast",
          include: ["tests/**/*.test.ts"],
          exclude: real,
          testTimeout: 30_000,
          hookTimeout: 60_000,
          // Many of these tests wait for a process or a timer.
          maxWorkers: "100%",
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "real",
          include: real,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          globalSetup: ["tests/sandbox/require-sandbox.ts"],
        },
      },
    ],
  },
});
