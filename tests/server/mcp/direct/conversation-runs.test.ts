import { describe, expect, it } from "vitest";
import { fixtureServer } from "../../../cli/ptc-process.ts";
import { ERAS } from "../clients.ts";
import { connect, DESK, serveProject, toolNamed } from "./serve-project.ts";

const TOOLS = [
  toolNamed("read", { annotations: { readOnlyHint: true } }),
  toolNamed("send"),
  toolNamed("wipe", { annotations: { destructiveHint: true } }),
];
const textsOf = ({ content }: { content: { text?: string }[] }) => content.map(({ text }) => text).join("\n");
const wasRefused = (text: string) => text.includes("was not called");

/** Each kind of rule that goes by what a run has read or called before the last of two calls. */
const RULES: Record<string, { settings: object; rules?: string; first?: string }> = {
  "a list of labels": {
    settings: { servers: [{ ...DESK, tools: { read: { labels: ["secret"] }, send: { accepts: [] } } }] },
  },
  "the labels of each run alone": {
    settings: {
      servers: [{ ...DESK, tools: { read: { labels: ["secret"] }, send: { accepts: [] } } }],
      labels: { scope: "run" },
    },
  },
  "a rule on servers": {
    settings: {},
    rules: `forbid (principal, action == Action::"call", resource == Tool::"mcp__desk__send") when { context.run.servers.contains("desk") };`,
  },
  "a rule on the number of calls": {
    settings: {},
    rules: `forbid (principal, action == Action::"call", resource == Tool::"mcp__desk__send") when { context.run.callsOfTool >= 1 };`,
    first: "send",
  },
};
const PERMIT = "permit (principal, action, resource);";

async function serveRules(name: string, more: object = {}) {
  const { settings, rules, first = "read" } = RULES[name] ?? { settings: {} };
  const policy = rules === undefined ? {} : { policy: ["rules.cedar"] };
  const written = { ...settings, ...more };
  const served = await serveProject(TOOLS, written, async ({ call, print }) => {
    await call(`mcp__desk__${first}`, { answer: { content: [{ type: "text", text: "7" }] } });
    const reply = await call("mcp__desk__send", { answer: { content: [] } });
    print(reply.ok ? "sent" : reply.error.message);
    return null;
  });
  if (rules !== undefined) {
    served.project.write("rules.cedar", `${PERMIT}\n${rules}`);
    served.project.write("ptc.yaml", { ...served.configured, ...policy });
  }
  return { served, first: `mcp__desk__${first}` };
}

/** Reads or sends something that shows the model next to nothing, and then sends. */
async function callBoth({ call }: Pick<Awaited<ReturnType<typeof connect>>, "call">, first: string) {
  const read = textsOf(await call(first, { answer: { content: [{ type: "text", text: "7" }] } }));
  return [read, textsOf(await call("mcp__desk__send", { answer: { content: [] } }))] as const;
}

describe("the direct calls of one conversation", () => {
  it.each(Object.keys(RULES))("have the verdict that a program with the same calls has: %s", async (name) => {
    const { served, first } = await serveRules(name);
    const client = await connect(served);
    expect(client.tools.map((each) => each.name)).toContain("mcp__desk__send");
    const ofProgram = textsOf(await client.call("execute_program", { code: "null;" }));
    expect(wasRefused(ofProgram)).toBe(true);
    const other = await connect(served);
    const [, sent] = await callBoth(other, first);
    expect(wasRefused(sent)).toBe(true);
    // Of another conversation nothing counts.
    const fresh = await connect(served);
    if (first !== "mcp__desk__send") {
      expect(wasRefused(textsOf(await fresh.call("mcp__desk__send", { answer: { content: [] } })))).toBe(
        false,
      );
    }
    expect(wasRefused((await callBoth(fresh, first))[0])).toBe(false);
  });

  it.each(Object.keys(RULES))("are each a run where the settings say so: %s", async (name) => {
    const { served, first } = await serveRules(name, { direct: { tools: ["desk"], runs: "call" } });
    const client = await connect(served);
    const [, sent] = await callBoth(client, first);
    expect(wasRefused(sent)).toBe(false);
  });

  it("say where they have read what refuses them, and programs of the conversation begin with that", async () => {
    const { served } = await serveRules("a list of labels");
    const { call } = await connect(served);
    const [, sent] = await callBoth({ call }, "mcp__desk__read");
    expect(sent).toContain("since it read mcp__desk__read (call 1 of another run of its conversation)");
    const settings = {
      servers: [{ ...DESK, tools: { read: { labels: ["secret"] }, send: { accepts: [] } } }],
    };
    const sends = await serveProject(TOOLS, settings, async ({ call: calls }) => {
      const reply = await calls("mcp__desk__send", { answer: { content: [] } });
      return reply.ok ? "sent" : reply.error.message;
    });
    const client = await connect(sends);
    const run = async () => textsOf(await client.call("execute_program", { code: "null;" }));
    expect(await run()).toContain("sent");
    await client.call("mcp__desk__read", { answer: { content: [{ type: "text", text: "7" }] } });
    expect(wasRefused(await run())).toBe(true);
  });

  it("know what programs of the conversation have read", async () => {
    const settings = {
      servers: [{ ...DESK, tools: { read: { labels: ["secret"] }, send: { accepts: [] } } }],
    };
    const served = await serveProject(TOOLS, settings, async ({ call }) => {
      await call("mcp__desk__read", { answer: { content: [{ type: "text", text: "7" }] } });
      return null;
    });
    const { call } = await connect(served);
    await call("execute_program", { code: "null;" });
    expect(wasRefused(textsOf(await call("mcp__desk__send", { answer: { content: [] } })))).toBe(true);
  });

  it.each(["conversation", "run"])(
    "know what a dry run of the conversation has read, which its model was told, with labels of a %s",
    async (scope) => {
      const settings = {
        servers: [{ ...DESK, tools: { read: { labels: ["secret"] }, send: { accepts: [] } } }],
        labels: { scope },
      };
      const served = await serveProject(TOOLS, settings, async ({ call }) => {
        await call("mcp__desk__read", { answer: { content: [{ type: "text", text: "7" }] } });
        return null;
      });
      const { call } = await connect(served);
      const planned = textsOf(await call("execute_program", { code: "null;", dry_run: true }));
      expect(planned).toContain("would change nothing");
      expect(wasRefused(textsOf(await call("mcp__desk__send", { answer: { content: [] } })))).toBe(true);
    },
  );

  it("know what a tool has read whose name is like that of a list", async () => {
    const settings = {
      servers: [{ ...DESK, tools: { "read/list": { labels: ["secret"] }, send: { accepts: [] } } }],
    };
    const listing = toolNamed("read/list", { annotations: { readOnlyHint: true } });
    const served = await serveProject([...TOOLS, listing], settings);
    const client = await connect(served);
    const name = client.tools.find((each) => /read.+list/.test(each.name))?.name ?? "";
    const answer = { content: [{ type: "text", text: "7" }] };
    expect(wasRefused(textsOf(await client.call(name, { answer })))).toBe(false);
    const sent = await client.call("mcp__desk__send", { answer: { content: [] } });
    expect(wasRefused(textsOf(sent))).toBe(true);
  });

  it.each(ERAS)(
    "share what a person allowed for further calls, in their conversation alone, at a client of %s",
    async (era) => {
      const served = await serveProject(TOOLS, { approvals: { ask: ["mcp__desk__wipe"] } });
      const questions: string[] = [];
      const person = (message: string) => {
        questions.push(message);
        return { action: "accept", content: { decision: questions.length === 2 ? "run" : "once" } };
      };
      const { call } = await connect(served, person, era);
      for (let index = 0; index < 4; index++)
        expect(textsOf(await call("mcp__desk__wipe"))).toContain("wipe is done");
      expect(questions).toHaveLength(2);
      const other = await connect(served, person, era);
      await other.call("mcp__desk__wipe");
      expect(questions).toHaveLength(3);
    },
  );

  it("count each by itself for approvals where the settings say so", async () => {
    const served = await serveProject(TOOLS, {
      approvals: { ask: ["mcp__desk__wipe"] },
      direct: { tools: ["desk"], runs: "call" },
    });
    let questions = 0;
    const { call } = await connect(served, () => {
      questions++;
      return { action: "accept", content: { decision: "once" } };
    });
    for (let index = 0; index < 3; index++) await call("mcp__desk__wipe");
    expect(questions).toBe(3);
  });

  it("remember what was read when one waits for a person and goes on as a program", async () => {
    const settings = {
      servers: [
        {
          ...DESK,
          tools: { read: { labels: ["secret"] }, wipe: { accepts: ["secret"] }, send: { accepts: [] } },
        },
      ],
      approvals: { ask: ["mcp__desk__wipe"] },
    };
    const served = await serveProject(TOOLS, settings, async ({ call }) => {
      await call("mcp__desk__wipe", {});
      const reply = await call("mcp__desk__send", {});
      return reply.ok ? "sent" : reply.error.message;
    });
    const one = await connect(served);
    await one.call("mcp__desk__read", { answer: { content: [{ type: "text", text: "7" }] } });
    const waits = textsOf(await one.call("mcp__desk__wipe"));
    const [, ticket = ""] = /ptc approvals approve (\w+)/.exec(waits) ?? [];
    await served.ptc(["approvals", "approve", ticket], {
      XDG_STATE_HOME: `${served.project.directory}/state`,
    });
    // Another conversation continues it.
    const other = await connect(served);
    const done = textsOf(await other.call("execute_program", { code: `ticket ${ticket}` }));
    expect(done).toContain("'mcp__desk__send' was not called");
  });
});

describe("resources of a labelled server", () => {
  const NOTES = fixtureServer("notes", "offers.mjs", ["notes"]);

  it.each([
    ["a list", [] as unknown],
    ["an argument", { "answer.to": [] } as unknown],
  ])(
    "refuse a guarded call after they were read, which accepts by %s, and not after they were listed",
    async (_, accepts) => {
      const settings = {
        servers: [
          { ...NOTES, labels: ["secret"], tools: { "resources/list": { labels: [] } } },
          { ...DESK, tools: { send: { accepts } } },
        ],
        discovery: "direct",
      };
      const served = await serveProject(TOOLS, settings);
      const { client, call } = await connect(served);
      const send = async (to: string) =>
        wasRefused(textsOf(await call("mcp__desk__send", { answer: { content: [], to } })));
      expect(await send("ada")).toBe(false);
      await client.readResource({ uri: "mcp://notes/mem://note" });
      expect(await send("notes of mem://note")).toBe(true);
      const other = await connect(served);
      await other.client.listResourceTemplates();
      const sent = textsOf(await other.call("mcp__desk__send", { answer: { content: [], to: "ada" } }));
      expect(wasRefused(sent)).toBe(false);
    },
  );
});
