import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseConfiguration } from "../../configuration/parse.ts";
import { tryPolicyCases } from "../../configuration/policy/policy-cases.ts";
import { type AskedCall, suggest, suggestEntries } from "../../project/suggestions.ts";
import { MemoryStore } from "../archive/memory-store.ts";
import { serversOf } from "../catalog/tool-of.ts";
import { viewOf } from "../server/mcp/served.ts";
import { archiveIn } from "../server/reports/sample-archive.ts";
import { newFolder } from "../temporary-folder.ts";

const SEND = "mcp__mail__send";
const WRITE = "mcp__files__write";
const asked = (
  tool: string,
  args: unknown,
  answer: AskedCall["answer"] = "approved",
  runId = "r1",
): AskedCall => ({ runId, call: 1, tool, arguments: args, answer });
const inRuns = (tool: string, all: unknown[], answer?: AskedCall["answer"]) =>
  all.map((args, index) => asked(tool, args, answer, `r${index}`));
const mails = ["ann", "bob", "cem"].map((name, index) => ({ to: `${name}@example.com`, text: `t${index}` }));
const paths = ["a", "b/c", "d"].map((name) => ({ path: `/work/reports/${name}.md`, content: name }));

/** What the suggested entries decide about calls, by ptc's own rules. */
async function decided(
  entries: { yaml: string; cedar?: string },
  calls: [string, object][],
): Promise<string[]> {
  const directory = newFolder();
  writeFileSync(join(directory, "rules.cedar"), entries.cedar ?? "permit (principal, action, resource);");
  const read = { file: "ptc.yaml", directory, environment: {} };
  const servers = ["mail", "files"].map((name) => `{ name: ${name}, command: x }`).join(", ");
  const text = `servers: [${servers}]\n${entries.yaml}\npolicy: [rules.cedar]\n`;
  const annotations = { destructiveHint: true };
  const all = viewOf(
    serversOf({ mail: [{ name: "send", annotations }], files: [{ name: "write", annotations }] }),
  );
  const cases = calls.map(([tool, args]) => ({ tool, arguments: args, expect: "allow" }));
  const results = await tryPolicyCases(
    parseConfiguration(text, read),
    all,
    JSON.stringify({ cases }),
    "cases",
  );
  return results.map((result) => result.decided);
}

describe("what was approved again and again", () => {
  it("is suggested with what its arguments have in common, and ptc decides so under it", async () => {
    const { suggestions } = suggest([...inRuns(SEND, mails), ...inRuns(WRITE, paths)], true);
    expect(suggestions.map(({ tool, where, saves }) => [tool, where, saves])).toEqual([
      [WRITE, [{ path: "path", pattern: "/work/reports/*" }], 3],
      [SEND, [{ path: "to", pattern: "*@example.com" }], 3],
    ]);
    const [write, send] = suggestions;
    const permit = "permit (principal, action, resource);\n";
    const withPermit = (entries = { yaml: "", cedar: "" } as { yaml: string; cedar?: string }) => ({
      ...entries,
      cedar: permit + entries.cedar,
    });
    expect(
      await decided(withPermit(send?.entries), [
        [SEND, mails[0] ?? {}],
        [SEND, { to: "dan@example.com", text: "new" }],
        [SEND, { to: "eve@evil.test", text: "t" }],
        [SEND, { to: "eve@evil.test@example.com", text: "t" }],
        [SEND, { text: "t" }],
      ]),
    ).toEqual(["allow", "allow", "ask", "ask", "ask"]);
    expect(
      await decided(withPermit(write?.entries), [
        [WRITE, paths[1] ?? {}],
        [WRITE, { path: "/work/reports/../secret", content: "" }],
        [WRITE, { path: "/work/other", content: "" }],
      ]),
    ).toEqual(["allow", "ask", "ask"]);
  });

  it("is suggested with a rule that permits the rest, where there are no rules yet", async () => {
    const { suggestions } = suggest([...inRuns(SEND, mails), ...inRuns(WRITE, paths)], false);
    expect(suggestions.filter(({ entries }) => entries.cedar?.startsWith("permit"))).toHaveLength(1);
    const permitting = suggestions.find(({ entries }) => entries.cedar?.startsWith("permit"));
    expect(await decided(permitting?.entries ?? { yaml: "" }, [[WRITE, paths[0] ?? {}]])).toEqual(["allow"]);
  });

  it.each<[string, AskedCall[]]>([
    ["too few times", inRuns(SEND, mails.slice(0, 2))],
    ["in one run", mails.map((each) => asked(SEND, each))],
    ["by nobody", inRuns(SEND, mails, "nobody")],
  ])("is not what was approved %s", (_, calls) => {
    expect(suggest(calls, true)).toMatchObject({ suggestions: [], without: [] });
  });

  it("gets no entry that lets pass what was denied, nor one for any arguments", () => {
    const denied = asked(SEND, { to: "boss@example.com", text: "t" }, "denied");
    const odd = inRuns(WRITE, [{ path: "/a" }, { path: "b" }, { path: "c" }]);
    expect(suggest([...inRuns(SEND, mails), denied, ...odd], true)).toMatchObject({
      suggestions: [],
      without: [
        { tool: WRITE, why: "the arguments that were approved have nothing in common" },
        { tool: SEND, why: "no pattern tells what was approved from what was denied" },
      ],
    });
  });

  it.each<[string, AskedCall[], string]>([
    ["without arguments", inRuns(SEND, [{}, null, undefined]), "it was approved without arguments"],
    [
      "with lists",
      inRuns(
        SEND,
        mails.map((each) => ({ ...each, cc: ["a@example.com"] })),
      ),
      "cc is no text",
    ],
    [
      "with numbers",
      inRuns(
        SEND,
        mails.map((each) => ({ ...each, o: { n: 1 } })),
      ),
      "o.n is no text",
    ],
    [
      "with truth values",
      inRuns(
        SEND,
        mails.map((each) => ({ ...each, now: true })),
      ),
      "now is no text",
    ],
    [
      "with other names",
      inRuns(
        SEND,
        mails.map((each) => ({ ...each, "a-b": "x" })),
      ),
      "a-b is no text",
    ],
    [
      "with a member in the first call alone",
      inRuns(
        SEND,
        mails.map((each, index) => (index === 0 ? { ...each, bcc: "x" } : each)),
      ),
      "bcc is in some of the approved calls alone",
    ],
    [
      "with a member in the last call alone",
      inRuns(
        SEND,
        mails.map((each, index) => (index === 2 ? { ...each, bcc: "x" } : each)),
      ),
      "bcc is in some of the approved calls alone",
    ],
    [
      "and denied with arguments that are not kept",
      [...inRuns(SEND, mails), { ...asked(SEND, undefined, "denied"), isKept: false }],
      "one of its calls was denied whose arguments",
    ],
  ])("gets no entry that would let anything pass, when approved %s", (_, calls, why) => {
    expect(suggest(calls, true)).toMatchObject({
      suggestions: [],
      without: [{ tool: SEND, why: expect.stringContaining(why) }],
    });
  });

  it("is told with the arguments of which any value passes", () => {
    const [found] = suggest(
      inRuns(
        SEND,
        mails.map((each) => ({ ...each, re: { id: each.text } })),
      ),
      true,
    ).suggestions;
    expect(found).toMatchObject({ where: [{ path: "to" }], free: ["text", "re.id"] });
  });

  it("is told with what else would have passed", () => {
    const calls = [...inRuns(SEND, mails), asked(SEND, { to: "zoe@example.com" }, "nobody", "r9")];
    expect(suggest(calls, true).suggestions[0]?.also).toEqual([{ runId: "r9", call: 1 }]);
  });

  it("never lets pass what was denied, and always what was approved", () => {
    const text = fc.oneof(
      fc.constantFrom(
        "ann@example.com",
        "bob@example.com",
        "a@b@example.com",
        "/work/a/b",
        "/work/a/../b",
        "x",
      ),
      fc.string({ maxLength: 8 }),
    );
    const call = fc.record({
      ...{ runId: fc.constantFrom("r1", "r2"), call: fc.constant(1), tool: fc.constant(SEND) },
      arguments: fc.record({ to: text, text }, { requiredKeys: [] }),
      answer: fc.constantFrom<AskedCall["answer"]>("approved", "approved", "denied", "nobody"),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 12 }), (calls) => {
        const [found] = suggest(calls, true).suggestions;
        if (found === undefined) return;
        // The pattern means what the rule says, by other means than the code under test.
        const passes = ({ arguments: args }: AskedCall) =>
          found.where.every(({ path, pattern }) => {
            const value = (args as Record<string, string>)[path];
            if (value === undefined) return false;
            const source = pattern.split("*").map((each) => each.replaceAll(/[^\w]/g, "\\$&"));
            const any = pattern.startsWith("*") ? "[^@]*" : "(?:(?!\\.\\.)[^])*";
            return (
              new RegExp(`^${source.join(any)}$`).test(value) &&
              !(pattern.endsWith("*") && value.includes(".."))
            );
          });
        expect(calls.filter((each) => each.answer === "denied" && passes(each))).toEqual([]);
        expect(calls.filter((each) => each.answer === "approved" && !passes(each))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is not what a reviewer approved, and nothing that one denied passes", async () => {
    const call = { tool: SEND, from: 0, took: 1, decision: "approved-once" };
    const found = async (approver: string, denier?: string) => {
      const archive = new MemoryStore();
      for (const args of mails) await archiveIn(archive, { calls: [{ ...call, approver, arguments: args }] });
      const denied = { ...call, decision: "denied", arguments: mails[0] };
      if (denier !== undefined) await archiveIn(archive, { calls: [{ ...denied, approver: denier }] });
      return suggestEntries(archive, { policy: { files: [] } } as never, {}, () => {});
    };
    for (const reviewer of ["interceptors.reviewer", "managed interceptors.reviewer"]) {
      expect(await found(reviewer)).toMatchObject({ suggestions: [], without: [], questions: 0 });
      expect(await found("ann", reviewer)).toMatchObject({ suggestions: [], without: [{ tool: SEND }] });
    }
    expect((await found("ann")).suggestions).toHaveLength(1);
  });

  it("is found in the archive, by who answered and by what asked", async () => {
    const archive = new MemoryStore();
    const call = { tool: SEND, from: 0, took: 1, decision: "approved-once", approver: "ann" };
    for (const args of mails) await archiveIn(archive, { calls: [{ ...call, arguments: args }] });
    await archiveIn(archive, {
      calls: [
        { ...call, decision: "denied", approver: "nobody", arguments: { to: "zoe@example.com", text: "t" } },
      ],
    });
    await archiveIn(archive, { source: "replay", calls: [{ ...call, arguments: { to: "eve@evil.test" } }] });
    const found = await suggestEntries(archive, { policy: { files: [] } } as never, {}, () => {});
    expect(found).toMatchObject({ runs: 4, questions: 4, without: [] });
    expect(found.suggestions).toMatchObject([{ tool: SEND, saves: 3, also: [{ call: 1 }] }]);
    expect(found.suggestions[0]?.runs).toHaveLength(3);
    const denied = { ...call, decision: "denied", unkept: "its values cannot be written", arguments: null };
    await archiveIn(archive, { calls: [denied] });
    expect(await suggestEntries(archive, { policy: { files: [] } } as never, {}, () => {})).toMatchObject({
      ...{ suggestions: [], without: [{ tool: SEND, why: expect.stringContaining("was denied") }] },
    });
  });
});
