/** The tests that may kill a mutant: the fast ones, but for some that cannot run here. */
import { defineConfig } from "vitest/config";

/** The tests that start runners as processes. */
const OF_RUNNERS = [
  "tests/runner-image/**/*.test.ts",
  "tests/sandbox/{failures,values}.test.ts",
  "tests/programs/call-saved.test.ts",
  "tests/execution/sessions/sessions.test.ts",
];

export default defineConfig({
  test: {
    include: process.env.PTC_MUTATED === "runner-image" ? OF_RUNNERS : ["tests/**/*.test.ts"],
    exclude: [
      "**/node_modules/**",
      "tests/**/*.real.test.ts",
      // These read the sources as text, which mutation changes.
      "tests/house/**",
      // These measure or disturb the process that they run in.
      "tests/upstream/mcp/floods.test.ts",
      "tests/fuzz/fuzz.test.ts",
      // These are about the assets of pages, which are not mutated.
      "tests/**/*-in-browser.test.ts",
    ],
    setupFiles: ["scripts/mutate/in-processes.ts"],
    env: { PTC_HOST: "off", PTC_KEYRING: "off" },
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    isolate: false,
  },
});
