import { defineConfig } from "vitest/config";

// "fast" runs anywhere in seconds. "real" starts real MCP servers, Docker and gVisor.
const real = ["tests/sandbox/**/*.test.ts", "tests/cli/**/*.test.ts", "tests/clients/**/*.test.ts"];

export default defineConfig({
  test: {
    projects: [
      { test: { name: "fast", include: ["tests/**/*.test.ts"], exclude: real, testTimeout: 30_000 } },
      {
        test: {
          name: "real",
          include: real,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          globalSetup: ["tests/sandbox/require-sandbox.ts"],
        },
      },
    ],
  },
});
