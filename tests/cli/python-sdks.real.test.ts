import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { envelopeOf, type Project, usePtc } from "./ptc-process.ts";
import { pythonSdks } from "./python-sdks.ts";

const newProject = usePtc();
const { python, missing } = pythonSdks();
const SERVER = join(import.meta.dirname, "../fixtures/servers/python-sdk.py");

/** Modules of servers: both SDKs, as they are now and as they were. */
const SERVERS = {
  official: ["now", "mcp"],
  fast: ["now", "fastmcp"],
  official1: ["older", "mcp"],
  fast2: ["older", "fastmcp"],
} as const;
const NAMES = Object.keys(SERVERS) as (keyof typeof SERVERS)[];

/** How the gold solutions of benchmarks are written: lists, texts and numbers as they are, members of models as they are called. */
const TYPESCRIPT = (server: string) => `
import * as ${server} from "./servers/${server}/index.js";
{
  const people = await ${server}.listPeople();
  const cities = people.map(({ home }) => home?.city ?? null);
  const first: string = people[0]!.born + " " + people[0]!.wakes + " " + people[0]!.mail + " " + people[0]!.id + " " + people[0]!.page;
  const found = await ${server}.findPerson({ name: "Ada" });
  const nobody = await ${server}.findPerson({ name: "Nobody" });
  const grace = await ${server}.getPerson({ name: "Grace" });
  const names: string[] = await ${server}.listNames();
  const motto: string = await ${server}.getMotto();
  const answer = await ${server}.getAnswer();
  const added = await ${server}.addPerson({ person: { name: "Alan", born: "1912-06-23", wakes: "07:00:00", mail: "a@example.com" } });
  const wrapped = await ${server}.countPeople.result();
  all.push({
    cities, first, found: found?.name, nobody, seen: grace.seen, home: grace.home, names, motto: motto.toUpperCase(), answer: answer.result, added,
    count: wrapped.ok && wrapped.data + 1, raw: wrapped.raw.structuredContent,
  });
}`;

const PYTHON = (server: string) => `
import servers.${server} as ${server}
people = ${server}.list_people()
cities = [person["home"]["city"] if person["home"] else None for person in people]
one = people[0]
first = " ".join([one["born"], one["wakes"], one["mail"], one["id"], one["page"]])
found = ${server}.find_person(name="Ada")
nobody = ${server}.find_person(name="Nobody")
grace = ${server}.get_person(name="Grace")
names = ${server}.list_names()
motto = ${server}.get_motto()
answer = ${server}.get_answer()
added = ${server}.add_person(person={"name": "Alan", "born": "1912-06-23", "wakes": "07:00:00", "mail": "a@example.com"})
wrapped = ${server}.count_people.result()
everything.append({
    "cities": cities, "first": first, "found": found["name"] if found else None, "nobody": nobody, "seen": grace["seen"], "home": grace["home"],
    "names": names, "motto": motto.upper(), "answer": answer["result"], "added": added,
    "count": wrapped["data"] + 1, "raw": wrapped["raw"]["structuredContent"],
})`;

const EXPECTED = {
  cities: ["London", null],
  first: "1815-12-10 06:30:00 ada@example.com 00000000-0000-0000-0000-000000000007 https://example.com/ada",
  found: "Ada",
  nobody: null,
  seen: "2026-01-02T03:04:05Z",
  home: null,
  names: ["Ada", "Grace"],
  motto: "ON",
  answer: 42,
  added: "Alan 1912-06-23 07:00:00 a@example.com",
  count: 4,
  raw: { result: 3 },
};

describe.skipIf(missing !== "")(`servers made with the Python SDKs${missing}`, () => {
  let project: Project;
  beforeAll(async () => {
    project = newProject({ "ptc.yaml": configuration() });
    await project.generate();
  });

  function configuration(names: readonly (keyof typeof SERVERS)[] = NAMES, execution: object = {}): object {
    const servers = names.map((name) => {
      const [release, kind] = SERVERS[name];
      return { name, command: python[release], args: [SERVER, kind], connect_timeout_seconds: 120 };
    });
    return { languages: ["typescript", "python"], servers, execution };
  }

  it.each([
    [
      "TypeScript",
      "gold.ts",
      () => `const all: unknown[] = [];\n${NAMES.map(TYPESCRIPT).join("")}\nresult = all;`,
    ],
    ["Python", "gold.py", () => `everything = []\n${NAMES.map(PYTHON).join("")}\nresult = everything`],
  ])(
    "give programs in %s dates, optional models, lists, texts and numbers as gold solutions use them",
    async (_language, file, code) => {
      project.write(file, code());
      const ran = await project.ptc(["run", file]);
      expect({ stderr: ran.stderr, result: envelopeOf(ran).result }).toMatchObject({
        result: { ok: true, data: NAMES.map(() => EXPECTED) },
      });
      const replayed = await project.ptc(["replay", envelopeOf(ran).run_id, "--json"]);
      expect({ code: replayed.code, stderr: replayed.stderr }).toMatchObject({ code: 0 });
    },
  );

  it("give an answer that contradicts its own schema, with a warning on stderr and in the record", async () => {
    project.write(
      "sensor.ts",
      "result = [await mcp__official__read_sensor(), await mcp__fast__read_sensor({})];",
    );
    const ran = await project.ptc(["run", "sensor.ts"]);
    const reading = { celsius: "21.5 C", place: "hall" };
    expect(envelopeOf(ran).result).toMatchObject({ ok: true, data: [reading, reading] });
    const warning = (name: string) =>
      `'mcp__${name}__read_sensor' answered against its own outputSchema: structuredContent.celsius must be number, not "21.5 C"`;
    for (const name of ["official", "fast"]) expect(ran.stderr).toContain(`ptc: warning: ${warning(name)}`);
    const shown = JSON.parse((await project.ptc(["runs", "show", envelopeOf(ran).run_id, "--json"])).stdout);
    expect(shown.calls.map((call: { warning?: string }) => call.warning)).toEqual([
      warning("official"),
      warning("fast"),
    ]);
  });

  it("have programs in either language catch it with the answer, where that is to be an error", async () => {
    const programs = {
      "strict.ts": "try { await mcp__fast__read_sensor(); } catch (e) { result = [e.message, e.data]; }",
      "strict.py":
        "try:\n    mcp__fast__read_sensor()\nexcept ToolError as error:\n    result = [error.message, error.data]",
    };
    const strict = newProject({
      "ptc.yaml": configuration(["fast"], { schema_mismatch: "error" }),
      ...programs,
    });
    await strict.generate();
    for (const file of Object.keys(programs)) {
      const { result } = envelopeOf(await strict.ptc(["run", file]));
      expect({ file, result }).toMatchObject({
        result: {
          ok: true,
          data: [
            expect.stringMatching(/^the call was made: 'mcp__fast__read_sensor' answered against /),
            { celsius: "21.5 C", place: "hall" },
          ],
        },
      });
    }
  });

  it.each([
    [
      "TypeScript",
      "old.ts",
      "const names = await mcp__official__list_names();\nresult = names.result;",
      "listNames",
    ],
    ["Python", "old.py", 'names = mcp__official__list_names()\nresult = names["result"]', "list_names"],
  ])("tell a program in %s that takes the wrapper what to leave out", async (_language, file, code, name) => {
    project.write(file, code);
    const ran = await project.ptc(["run", file]);
    const { result } = envelopeOf(ran);
    // The type check says so; where there was no time for it, the advice on the failure does.
    expect(result).toMatchObject({ ok: false });
    expect(JSON.stringify(result) + ran.stderr).toContain(`${name} returns the value itself`);
  });

  it("are called and inspected from a shell in the same way", async () => {
    expect(await project.ptc(["call", "fast.list_names"])).toMatchObject({ stdout: '["Ada","Grace"]\n' });
    expect((await project.ptc(["inspect", "official.count_people"])).stdout).toContain(
      "countPeople():Promise<number>",
    );
  });

  it("are not called with an argument that they do not have", async () => {
    const refused = await project.ptc(["call", "official.list_names", "--json", '{"limit": 1}']);
    expect(refused.stderr).toContain("mcp__official__list_names has no argument 'limit'; it takes none");
  });
});
