import { describe, expect, it } from "vitest";
import { socketFlagProblem } from "../../../sandbox/docker/choose-channel.ts";

describe("a runtime", () => {
  it.each([
    ["with the flag", { path: "/usr/bin/runsc", runtimeArgs: ["--network=none", "--host-uds=open"] }],
    ["with the flag in short", { path: "runsc", runtimeArgs: ["-host-uds=all"] }],
    ["that is set up elsewhere", {}],
    ["that is not gVisor's", { path: "/usr/bin/runc", runtimeArgs: null }],
  ])("%s has no problem", (_what, runtime) => {
    expect(socketFlagProblem("runsc", runtime)).toBeUndefined();
  });

  it.each([
    ["no flags", null, ["--host-uds=open"]],
    ["other flags", ["--platform=ptrace"], ["--platform=ptrace", "--host-uds=open"]],
    ["the flag turned off", ["--host-uds=none"], ["--host-uds=open"]],
  ])("of gVisor's with %s is told with what to write", (_what, runtimeArgs, wanted) => {
    const problem = socketFlagProblem("runsc", { path: "/usr/bin/runsc", runtimeArgs });
    const entry = JSON.stringify({ runtimes: { runsc: { path: "/usr/bin/runsc", runtimeArgs: wanted } } });
    expect(problem).toContain("without the flag --host-uds=open");
    expect(problem).toContain(`write ${entry} into /etc/docker/daemon.json`);
  });
});
