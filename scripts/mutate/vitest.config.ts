/** The tests that may kill a mutant: fast ones that check ptc's behaviour. */
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
      // These run whole commands and exercise everything. A change that only they notice has no direct test.
      "tests/cli/**",
      "tests/clients/**",
    ],
    setupFiles: ["scripts/mutate/in-processes.ts"],
    env: { PTC_HOST: "off", PTC_KEYRING: "off" },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    isolate: false,
  },
});
