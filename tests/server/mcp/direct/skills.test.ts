import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { fixtureServer } from "../../../cli/ptc-process.ts";
import { connect, serveProject } from "./serve-project.ts";

const digestOf = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

const REFUNDS = "skill://acme/refunds/SKILL.md";
const MAIL = "skill://acme/refunds/examples/mail.md";
const GIT = "skill://git/SKILL.md";
const FILES: Record<string, string> = {
  [REFUNDS]: "---\nname: refunds\ndescription: Does refunds\n---\nAsk for the receipt.",
  [MAIL]: "Dear customer, € 5 are on their way.",
  [GIT]: "---\nname: git\ndescription: Does git\n---\nCommit often.",
};

const Any = z.looseObject({});
const skill = (module: string, name: string, uris: string[]) => ({
  uri: `mcp://${module}/${uris[0]}`,
  frontmatter: { name, description: `Does ${name}` },
  resources: uris.map((uri) => {
    const text = FILES[uri] ?? "";
    return { uri: `mcp://${module}/${uri}`, digest: digestOf(text), size: Buffer.byteLength(text) };
  }),
});

/** A ptc in front of two servers that have the same skills. */
async function serveBoth(settings: object = {}, files: object = { files: FILES }) {
  const servers = ["desk", "shelf"].map((name) => fixtureServer(name, "skills.mjs", ["skills.json"]));
  const more = { servers, discovery: "direct", ...settings };
  const served = await serveProject([], more, undefined, { "skills.json": JSON.stringify(files) });
  return { ...served, say: (next: object) => served.project.write("skills.json", JSON.stringify(next)) };
}

type Connected = Awaited<ReturnType<typeof connect>>["client"];

/** What a client of either revision gets for a method that its SDK does not know. */
function ask(client: Connected, method: string, params: object = {}): Promise<Record<string, unknown>> {
  return client.request({ method, params } as never, Any as never) as never;
}

describe("skills of servers", () => {
  it.each(["2025-11-25", "2026-07-28"] as const)(
    "are listed, got and read by a client of %s, and two servers that have the same never meet",
    async (era) => {
      const served = await serveBoth();
      const { client } = await connect(served, undefined, era);
      expect(client.getServerCapabilities()).toMatchObject({
        extensions: { "io.modelcontextprotocol/skills": {} },
      });
      const refunds = [REFUNDS, MAIL];
      expect((await ask(client, "skills/list")).skills).toEqual([
        skill("desk", "refunds", refunds),
        skill("desk", "git", [GIT]),
        skill("shelf", "refunds", refunds),
        skill("shelf", "git", [GIT]),
      ]);
      const got = await ask(client, "skills/get", { uri: `mcp://shelf/${GIT}` });
      expect(got.skill).toEqual(skill("shelf", "git", [GIT]));
      const { contents } = await client.readResource({ uri: `mcp://shelf/${MAIL}` });
      expect(contents).toEqual([
        { uri: `mcp://shelf/${MAIL}`, mimeType: "text/markdown", text: FILES[MAIL] },
      ]);
      for (const uri of [GIT, `mcp://desk/${MAIL}`, "mcp://desk/skill://none/SKILL.md"])
        await expect(ask(client, "skills/get", { uri })).rejects.toMatchObject({ code: -32_602 });
    },
  );

  it("are refused file by file where the digest differs, until the skill is got again", async () => {
    const served = await serveBoth();
    const { client } = await connect(served);
    const uri = `mcp://desk/${MAIL}`;
    served.say({ files: FILES, sent: { [MAIL]: FILES[MAIL]?.replace("5", "9") } });
    await expect(client.readResource({ uri })).rejects.toThrow(
      `server 'desk' sent ${MAIL} with another digest than its skill lists; get the skill again`,
    );
    expect((await client.readResource({ uri: `mcp://desk/${GIT}` })).contents).toHaveLength(1);
    const unlisted = client.readResource({ uri: "mcp://desk/skill://acme/refunds/more.md" });
    await expect(unlisted).rejects.toThrow("which its skill does not list");
    served.say({ files: { ...FILES, [MAIL]: "Another mail" } });
    await expect(client.readResource({ uri })).rejects.toThrow("another digest");
    await ask(client, "skills/get", { uri: `mcp://desk/${REFUNDS}` });
    expect((await client.readResource({ uri })).contents).toMatchObject([{ text: "Another mail" }]);
  });

  it("are left out, and named, where an entry is wrong or hides characters", async () => {
    const hidden = { [GIT]: { description: "Does git\u202e" } };
    const forged = { [MAIL]: "sha1:abc" };
    const served = await serveBoth({}, { files: FILES, frontmatter: hidden, forged });
    const { client } = await connect(served);
    const { skills, _meta } = await ask(client, "skills/list");
    expect(skills).toEqual([]);
    const missing = (_meta as Record<string, string[]>)["ptc/missing"];
    expect(missing?.toSorted()).toEqual(
      ["desk", "shelf"].flatMap((module) => [
        `${module}: the skill ${REFUNDS} does not list each of its files once, with a digest and a size`,
        `${module}: the skill ${GIT} has hidden characters in its frontmatter`,
      ]),
    );
  });

  it("are under policy and in the audit log, as calls of their methods", async () => {
    const served = await serveBoth({ tools: { block: ["mcp__shelf__skills/*"] } });
    const { client } = await connect(served);
    const { skills } = await ask(client, "skills/list");
    expect(skills).toHaveLength(2);
    await expect(ask(client, "skills/get", { uri: `mcp://shelf/${GIT}` })).rejects.toThrow("no server");
    const calls = served.auditLines().filter(({ event }) => event === "call");
    expect(calls.map(({ tool, decision }) => [tool, decision])).toEqual([
      ["mcp__desk__skills/list", "allowed"],
    ]);
  });

  it.each(["2025-11-25", "2026-07-28"] as const)(
    "are asked about file by file where a rule says so, of a client of %s, and never for a list or an entry",
    async (era) => {
      const served = await serveBoth({
        approvals: { ask: ["mcp__desk__skills/*", "mcp__shelf__resources/*"] },
      });
      const questions: string[] = [];
      const person = (message: string) => {
        questions.push(message);
        return { action: "accept", content: { decision: "once" } };
      };
      const { client } = await connect(served, person, era);
      const { skills, _meta } = await ask(client, "skills/list");
      expect(skills).toHaveLength(2);
      expect((_meta as Record<string, string[]>)["ptc/missing"]).toEqual([expect.stringMatching(/^desk: /)]);
      const refused = ask(client, "skills/get", { uri: `mcp://desk/${GIT}` });
      await expect(refused).rejects.toMatchObject({ code: -32_603 });
      expect(questions).toEqual([]);
      expect((await client.readResource({ uri: `mcp://shelf/${GIT}` })).contents).toHaveLength(1);
      expect(questions).toEqual([expect.stringContaining("mcp__shelf__resources/read")]);
    },
  );
});
