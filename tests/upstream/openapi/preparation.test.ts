/** Reading large descriptions away from the thread that serves, and keeping what comes of them. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { parseDescription } from "../../../upstream/openapi/description.ts";
import { openApi } from "../../../upstream/openapi/open-api.ts";
import { readOperations } from "../../../upstream/openapi/operations.ts";
import { newFolder } from "../../temporary-folder.ts";

/** Types that all lead to each other, for many operations: 0.5 MB. The mark makes it a text that no other test has read. */
function tangled(mark: string, types = 120, operations = 400): string {
  const ref = (n: number) => ({ $ref: `#/components/schemas/T${n % types}` });
  const media = (n: number) => ({ content: { "application/json": { schema: ref(n) } } });
  const schemas = Object.fromEntries(
    Array.from({ length: types }, (_, n) => {
      const own = Array.from({ length: 60 }, (_, m) => [
        `m${m}`,
        { type: "string", description: "a member" },
      ]);
      const others = Array.from({ length: 12 }, (_, m) => [`r${m}`, ref(n * 7 + m * 11 + 1)]);
      return [`T${n}`, { type: "object", properties: Object.fromEntries([...own, ...others]) }];
    }),
  );
  const paths = Object.fromEntries(
    Array.from({ length: operations }, (_, n) => [
      `/p${n}`,
      { post: { operationId: `op${n}`, requestBody: media(n), responses: { 200: media(n + 5) } } },
    ]),
  );
  return JSON.stringify({
    openapi: "3.1.0",
    info: { title: mark, version: "1" },
    paths,
    components: { schemas },
  });
}

function projectOf(text: string, privateFolder = join(newFolder(), ".ptc")) {
  const openapi = join(newFolder(), "api.json");
  writeFileSync(openapi, text);
  const open = async (more: { signal?: AbortSignal; include?: string } = {}) => {
    const { signal = new AbortController().signal, include } = more;
    const operations = include === undefined ? {} : { include: [{ operation: include }] };
    const target = { openapi, url: "http://127.0.0.1:1", operations };
    const options = { headers: {}, authorization: undefined, version: "0", timeoutMs: 60_000, signal };
    const connection = await openApi(target, { ...options, privateFolder });
    return connection.list();
  };
  const folder = join(privateFolder, "apis");
  const kept = () => readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  return { open, folder, kept, privateFolder };
}

test("A large description becomes the same tools as a small one, and is kept for the user alone", async () => {
  const text = tangled("the same");
  const { open, folder, kept, privateFolder } = projectOf(text);
  const { tools, problems } = await open();
  const here = readOperations(parseDescription(text, "of a test"));
  expect(tools).toEqual(here.operations.map(({ definition }) => definition));
  expect(problems).toEqual(here.problems);
  expect(kept()).toHaveLength(1);
  expect(statSync(join(folder, kept()[0] ?? "")).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(privateFolder, ".gitignore"), "utf8")).toContain("*");
  await open({ include: "op1" });
  expect(kept()).toHaveLength(2);
});

test("While a large description is read, the thread does other work", async () => {
  const { open } = projectOf(tangled("other work"));
  const reading = open();
  let isOver = false;
  void reading.then(() => {
    isOver = true;
  });
  let turns = 0;
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    turns++;
  }
  expect((await reading).tools).toHaveLength(400);
  // Read on this thread it takes few turns, since the whole text is read in one.
  expect(turns).toBeGreaterThan(20);
});

test("What was kept is used by the next start, unless it was changed or is another ptc's", async () => {
  const text = tangled("kept");
  const { folder, privateFolder, kept, open } = projectOf(text);
  await open();
  const file = join(folder, kept()[0] ?? "");
  const whole = readFileSync(file, "utf8");
  const openAgain = async (content: string) => {
    writeFileSync(file, content);
    // A new process has nothing in memory.
    vi.resetModules();
    const again = await import("../../../upstream/openapi/open-api.ts");
    const openapi = join(newFolder(), "api.json");
    writeFileSync(openapi, text);
    const target = { openapi, url: "http://127.0.0.1:1", operations: {} };
    const options = { headers: {}, authorization: undefined, version: "0", timeoutMs: 60_000 };
    const signal = new AbortController().signal;
    const connection = await again.openApi(target, { ...options, signal, privateFolder });
    return (await connection.list()).tools.length;
  };
  const fewer = whole.split("\n").slice(1, -102).join("\n").concat("\n");
  const digest = createHash("sha256").update(fewer).digest("hex");
  expect(await openAgain(`${digest}\n${fewer}`)).toBe(300);
  for (const broken of [`${whole.split("\n")[0]}\n${fewer}`, fewer, "", "\n", `${digest}\n`]) {
    expect(await openAgain(broken)).toBe(400);
    expect(readFileSync(file, "utf8")).toBe(whole);
  }
});

test("No more than 32 are kept, and the oldest go first", async () => {
  const { folder, kept, open } = projectOf(tangled("oldest", 10, 40));
  mkdirSync(folder, { recursive: true });
  const old = (n: number) => `${n.toString(16).padStart(64, "0")}.jsonl`;
  for (let n = 0; n < 40; n++) {
    writeFileSync(join(folder, old(n)), "");
    utimesSync(join(folder, old(n)), 1_000 + n, 1_000 + n);
  }
  writeFileSync(join(folder, "another.txt"), "");
  await open();
  expect(kept()).toHaveLength(32);
  expect(kept()).toContain(old(39));
  expect(kept()).not.toContain(old(0));
  expect(readdirSync(folder)).toContain("another.txt");
});

test("A large description that is none is refused in one line, by what is wrong with it", async () => {
  const text = `openapi: 3.1.0\nx: &a {b: 1}\ny: [${"1,".repeat(10_000)}`;
  await expect(projectOf(text).open()).rejects.toMatchObject({
    code: "protocol_error",
    message: expect.stringMatching(/^the OpenAPI description at .*api\.json is neither JSON nor YAML$/),
  });
  await expect(projectOf(`{"openapi":"4.0","x":"${"a".repeat(10_000)}"}`).open()).rejects.toThrow(
    /is of version "4\.0"/,
  );
});

test("A description that is no longer wanted is not read on, and is read for whoever else wants it", async () => {
  const { open } = projectOf(tangled("wanted"));
  const abort = new AbortController();
  const first = open({ signal: abort.signal });
  const second = open();
  setTimeout(() => abort.abort(), 20);
  await expect(first).rejects.toMatchObject({ code: "cancelled" });
  expect((await second).tools).toHaveLength(400);
});

test("A folder that cannot be written takes no tool away", async () => {
  const file = join(newFolder(), "file");
  writeFileSync(file, "");
  const { open } = projectOf(tangled("unwritable", 10, 40), join(file, ".ptc"));
  expect((await open()).tools).toHaveLength(40);
});
