import { expect, test, vi } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { DockerSandboxEngine } from "../../../sandbox/docker/docker-sandbox-engine.ts";
import { eventually } from "../../eventually.ts";
import { newFolder } from "../../temporary-folder.ts";
import { FakeEngine } from "../pool/fake-engine.ts";

test.each(["auto", "attached"] as const)(
  "an engine over the channel '%s' is asked once whose processors it uses, in the background, until it answers",
  async (channel) => {
    const containers = new FakeEngine();
    const plain = await containers.describe();
    const machine = { name: "far", kernel: "another", operatingSystem: "Debian" };
    const describe = vi
      .spyOn(containers, "describe")
      .mockRejectedValueOnce(new Error("it does not answer yet"))
      .mockResolvedValue({ ...plain, machine });
    const sandboxes = new DockerSandboxEngine(containers, {
      folder: newFolder(),
      runners: RUNNER_STARTS,
      channel,
    });
    await eventually(() => expect(sandboxes.isElsewhere()).toBe(true));
    expect(sandboxes.isElsewhere()).toBe(true);
    expect(describe).toHaveBeenCalledTimes(2);
  },
);

test("an engine that was described is not asked again how runners connect", async () => {
  const containers = new FakeEngine();
  const plain = await containers.describe();
  const describe = vi.spyOn(containers, "describe").mockResolvedValue({
    ...plain,
    runtimes: { runsc: { path: "runsc", runtimeArgs: ["--host-uds=open"] } },
  });
  const sandboxes = new DockerSandboxEngine(containers, { folder: newFolder(), runners: RUNNER_STARTS });
  await sandboxes.describe();
  await sandboxes.prepare("runsc");
  expect(describe).toHaveBeenCalledTimes(1);
  await sandboxes.prepare("another");
  expect(describe).toHaveBeenCalledTimes(2);
});
