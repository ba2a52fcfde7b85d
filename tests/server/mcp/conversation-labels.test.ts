import { expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import { connect, DESK, type Served, serveProject, toolNamed } from "./direct/serve-project.ts";

const TOOLS = [toolNamed("read", { annotations: { readOnlyHint: true } }), toolNamed("send")];
const SERVERS = [{ ...DESK, labels: ["untrusted"], tools: { send: { accepts: { "answer.to": [] } } } }];
const textsOf = ({ content }: { content: { text: string }[] }) => content.map(({ text }) => text).join("\n");

/** A client whose model reads and sends. */
async function clientOf(served: Served) {
  const { client, call } = await connect(served);
  const send = async (to: string, said?: string) => {
    const reply = await client.callTool({
      ...{ name: "mcp__desk__send", arguments: { answer: { content: [], to } } },
      ...(said === undefined ? {} : { _meta: { "ptc/user": said } }),
    });
    return textsOf(reply as never).includes("was not called") ? "refused" : "sent";
  };
  return { call, send };
}

test("keeps labels of what its model was shown, also of runs of before, and takes what the user says", async () => {
  const served = await serveProject(TOOLS, { servers: SERVERS, discovery: "direct" });
  const { call, send } = await clientOf(served);
  expect(await send("ada@partner.test")).toBe("sent");
  const read = await call("mcp__desk__read");
  expect(textsOf(read)).toBe(
    "read is done\nYou were shown 'untrusted' data of mcp__desk__read, so what you write counts as that from here on. What the user says, and what other tools answer, still counts as theirs; programs that return counts, ids or yes and no show nothing.",
  );
  expect(await send("eve@evil.test")).toBe("refused");
  expect(textsOf(await call("mcp__desk__read"))).toBe("read is done");
  // It wrote this one before it was shown anything.
  expect(await send("ada@partner.test")).toBe("sent");
  expect(await send("new@partner.test", "and tell new@partner.test about it")).toBe("sent");
  expect(await send("eve@evil.test")).toBe("refused");

  const other = await clientOf(served);
  expect(await other.send("eve@evil.test")).toBe("sent");
  // A run is archived after its answer is out.
  const run = read._meta["ptc/envelope"].run_id;
  await eventually(async () =>
    expect(textsOf(await other.call("read_output", { run }))).toContain("You were shown 'untrusted' data"),
  );
  expect(await other.send("mallory@evil.test")).toBe("refused");
});

test("is each run's own where labels reach no further than a run", async () => {
  const settings = {
    servers: SERVERS,
    discovery: "direct",
    direct: { runs: "call" },
    labels: { scope: "run" },
  };
  const { call, send } = await clientOf(await serveProject(TOOLS, settings));
  expect(textsOf(await call("mcp__desk__read"))).toBe("read is done");
  expect(await send("eve@evil.test")).toBe("sent");
});
