import { inject } from "vitest";

// A setup file of tests that can do with either engine: they and the commands that they start run on the one that was found.
process.env.PTC_ENGINE = inject("testedEngine");
