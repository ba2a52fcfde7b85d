import { inject } from "vitest";

// A setup file of real tests: a doctor that one of them starts measures gVisor's platforms, and changes neither that of the others nor
// what this machine has noted.
const platform = inject("runscPlatform");
if (platform !== "") process.env.PTC_RUNSC_PLATFORM ||= platform;
