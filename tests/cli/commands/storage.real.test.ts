/** Commands whose runs, audit log, approvals and logins are in PostgreSQL, and `ptc storage`. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openPool } from "../../../archive/postgres/database.ts";
import { SqliteArchiveStore } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { loadConfiguration } from "../../../configuration/load.ts";
import { openPending } from "../../../execution/pending/open-pending.ts";
import { openLoginStore } from "../../../logins/logins.ts";
import type { Login } from "../../../upstream/authorization/login-store.ts";
import { archiveRun } from "../../archive/made-archives.ts";
import { usePostgres, WITHOUT_POSTGRES } from "../../archive/postgres/server.ts";
import { sampleRun } from "../../archive/sample-runs.ts";
import { expectRefusal, projectInProcess, usePtcWithoutWalls } from "../in-process.ts";
import { recorded, replay, SERVERS } from "./replay/recorded.ts";

const [OLD, NEW] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString("base64")) as [string, string];
const LOGIN: Login = {
  version: 1,
  principal: "p",
  url: "https://hub.example/mcp",
  issuer: "https://hub.example",
  tokenEndpoint: "https://hub.example/token",
  client: { id: "c", kind: "registered" },
  accessToken: "the-access-token-of-p",
};
const LOGIN_KEY = { principal: "p", server: "hub", url: LOGIN.url, clientId: undefined };

describe.skipIf(WITHOUT_POSTGRES !== "")(`with PostgreSQL${WITHOUT_POSTGRES}`, () => {
  const server = usePostgres();
  const newProject = usePtcWithoutWalls();
  const storage = (url = server().url(), keys: unknown = OLD) => ({ url, encryption_key: keys });

  it("runs are listed, shown, exported, replayed and pruned, and audited, and no file keeps any of it", async () => {
    const made = newProject({ "ptc.yaml": { servers: SERVERS, storage: storage() } });
    const live = await recorded(
      made,
      'console.log("x".repeat(10)); result = (await mcp__my_documents__get_document({ documentId: "a" })).title;',
    );
    expect(live.result).toMatchObject({ ok: true });
    const ptc = (...args: string[]) => made.ptc(args);
    const listed = await ptc("runs", "list", "--json");
    expect(JSON.parse(listed.stdout)).toMatchObject([{ run_id: live.run_id, status: "ok", calls: 1 }]);
    expect((await ptc("runs", "show", live.run_id)).stdout).toContain("mcp__my_documents__get_document");
    expect((await ptc("runs", "show", live.run_id, "--output")).stdout).toContain("xxxxxxxxxx");
    expect((await ptc("runs", "stats", "--json")).stdout).toContain('"runs":1');
    expect(await replay(made, [live.run_id])).toMatchObject({ code: 0 });
    expect((await ptc("runs", "verify")).code).toBe(0);
    const head = (await ptc("runs", "head")).stdout.trim();
    expect(await ptc("runs", "verify", "--head", head)).toMatchObject({ code: 0 });
    expect(await ptc("runs", "export", live.run_id, "--out", "run.ptc")).toMatchObject({ code: 0 });
    const audit = await ptc("audit", "--json");
    expect(audit.stdout).toContain(`"run_id":"${live.run_id}"`);
    expect((await ptc("audit", "verify")).stdout).toMatch(
      /lines? in the audit log in PostgreSQL are as they were written/,
    );
    const auditHead = (await ptc("audit", "head")).stdout.trim();
    expect(await ptc("audit", "verify", "--head", auditHead)).toMatchObject({ code: 0 });
    const html = await ptc("runs", "show", live.run_id, "--html", "run.html");
    expect(html.code).toBe(0);
    expect(made.read("run.html")).toContain("mcp__my_documents__get_document");
    for (const file of ["archive.db", "audit.jsonl", "approvals.db"])
      expect(existsSync(join(made.directory, ".ptc", file))).toBe(false);
    const status = JSON.parse((await ptc("storage", "status", "--json")).stdout);
    expect(status).toMatchObject({
      version: status.newest,
      kept: { runs: 1, sealedOtherwise: 0 },
    });
    expect((await ptc("runs", "prune", "--keep-days", "0")).stdout).toMatch(/^deleted 1 run /);
    expect(JSON.parse((await ptc("runs", "list", "--json")).stdout)).toEqual([]);
    expect((await ptc("runs", "verify")).code).toBe(0);
  });

  it("what is edited in the database is told by runs verify and audit verify", async () => {
    const url = server().url();
    const { call, generate, ptc } = projectInProcess({ servers: SERVERS, storage: storage(url) });
    await generate();
    for (let i = 0; i < 2; i++) expect(await call("my-documents.list_documents")).toMatchObject({ code: 0 });
    expect(await ptc(["runs", "verify"])).toMatchObject({ code: 0 });
    const db = await openPool(url);
    await db.exec("UPDATE runs SET title = 'else' WHERE id = 1; DELETE FROM audit_lines WHERE seq = 2");
    expect(await ptc(["runs", "verify"])).toMatchObject({ code: 1 });
    expect((await ptc(["audit", "verify"])).stdout).toContain("line 2 is missing");
    await db.exec("UPDATE run_days SET runs = runs + 1");
    expect((await ptc(["runs", "verify"])).stdout).toMatch(
      /the sums of \S+ differ from the sums of its runs/,
    );
    await db.close();
  });

  it("an archive in SQLite is taken over with its chain, in as many tries as it takes, and into no other one", async () => {
    const url = server().url();
    const { project, ptc } = projectInProcess({ storage: storage(url) });
    const file = join(project.directory, "old.db");
    const old = new SqliteArchiveStore({ path: file, keepDays: 36_500 });
    for (let i = 0; i < 130; i++)
      expect(
        await archiveRun(old, sampleRun({ code: `run(${i})`, startedAt: Date.UTC(2030, i % 3, 2) })),
      ).toMatchObject({ ok: true });
    const [first, second] = (await old.following(0, 2)).runs;
    await old.delete([first?.runId ?? "", second?.runId ?? ""], Date.now());
    const [, , third] = (await old.following(0, 3)).runs;
    await old.delete([third?.runId ?? ""], Date.now());
    const taken = await ptc(["storage", "import", "old.db"]);
    expect(taken).toMatchObject({ code: 0, stderr: "" });
    const head = await old.head();
    expect(taken.stdout).toContain(`the head is ${head}, as it was`);
    expect((await ptc(["runs", "head"])).stdout.trim()).toBe(head);
    expect(await ptc(["runs", "verify", "--head", head])).toMatchObject({ code: 0 });
    expect((await ptc(["storage", "import", "old.db"])).stdout).toContain("has all of");
    // What came to the old archive meanwhile is taken the next time.
    await archiveRun(old, sampleRun({ code: "later()" }));
    expect((await ptc(["storage", "import", "old.db"])).stdout).toContain("has taken 1 record over");
    expect((await ptc(["runs", "head"])).stdout.trim()).toBe(await old.head());
    const [newest] = (await old.list({ limit: 1 })).runs;
    const [there, here] = [
      await old.read(newest?.run_id ?? ""),
      JSON.parse((await ptc(["runs", "list", "--json", "--limit", "200"])).stdout),
    ];
    expect(here).toHaveLength(128);
    expect(here.map(({ run_id }: { run_id: string }) => run_id)).toContain(there.record.run_id);
    await old.close();
    const other = new SqliteArchiveStore({ path: join(project.directory, "other.db"), keepDays: 36_500 });
    await archiveRun(other, sampleRun());
    await other.close();
    expectRefusal(await ptc(["storage", "import", "other.db"]), "already has runs that are not from", 1);
    expectRefusal(await ptc(["storage", "import", "none.db"]), "there is no such archive");
  });

  it("the audit log beside an archive is taken over with it, and that of the project where no file is named", async () => {
    const url = server().url();
    const { project, call, generate, ptc } = projectInProcess({ servers: SERVERS });
    await generate();
    expect(await call("my-documents.list_documents")).toMatchObject({ code: 0 });
    const lines = (await ptc(["audit", "--json"])).stdout;
    const head = (await ptc(["audit", "head"])).stdout.trim();
    const count = lines.trimEnd().split("\n").length;
    project.write("ptc.yaml", { servers: SERVERS, storage: storage(url) });
    const taken = await ptc(["storage", "import"]);
    expect(taken).toMatchObject({ code: 0, stderr: "" });
    expect(taken.stdout).toContain(`has taken ${count} lines over; the head is ${head}, as it was`);
    expect((await ptc(["audit", "--json"])).stdout).toBe(lines);
    expect(await ptc(["audit", "verify", "--head", head])).toMatchObject({ code: 0 });
    const again = await ptc(["storage", "import", ".ptc/archive.db"]);
    expect(again.stdout).toMatch(/has all of .*archive\.db already.*\n.*has all of .*audit\.jsonl already/);
    expect(JSON.parse((await ptc(["storage", "import", "--json"])).stdout)).toMatchObject({
      taken: 0,
      audit: { taken: 0, head },
    });
    // A database that has lines of its own takes the runs alone, and says so.
    const other = server().url();
    project.write("ptc.yaml", { servers: SERVERS, storage: storage(other) });
    const db = await openPool(other);
    await ptc(["storage", "migrate"]);
    await db.exec("INSERT INTO audit_head VALUES (true, 1, 'x') ON CONFLICT (is_only) DO UPDATE SET seq = 1");
    await db.close();
    const refused = await ptc(["storage", "import"]);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain("has taken 1 record over");
    expect(refused.stderr).toMatch(/already has lines of an audit log that are not from/);
  });

  it("logins and what waits are encrypted, and move to a new key", async () => {
    const url = server().url();
    const { project, ptc, env } = projectInProcess({ storage: storage(url) });
    const use = async (keys: unknown) => {
      project.write("ptc.yaml", { storage: storage(url, keys) });
      const configuration = await loadConfiguration({ flag: undefined, env, cwd: project.directory });
      return { logins: openLoginStore(env, configuration), approvals: await openPending(configuration, env) };
    };
    const { logins, approvals } = await use(OLD);
    await logins.withLock(LOGIN_KEY, () => logins.write(LOGIN_KEY, LOGIN));
    const version = await logins.version(LOGIN_KEY);
    const request = {
      runId: "r",
      tool: "mcp__a__b",
      arguments: { said: "what-nobody-reads" },
      definitionDigest: "d",
      argumentsDigest: "e",
    };
    const run = { program: { code: "1", data: {}, language: "javascript", fileName: "p.js" } };
    await approvals.keep({ principal: "local", source: "serve" }, run as never, request, "0123456789abcdef");
    const db = await openPool(url);
    const kept = await db.send({
      text: "SELECT encode(content, 'escape') AS text FROM documents UNION ALL SELECT encode(question || run, 'escape') FROM pending",
    });
    expect(JSON.stringify(kept.rows)).not.toMatch(/the-access-token|what-nobody-reads/);
    expect(kept.rows).toHaveLength(2);
    await use([NEW, OLD]);
    expect(JSON.parse((await ptc(["storage", "status", "--json"])).stdout).kept).toMatchObject({
      waiting: 1,
      logins: 1,
      sealedOtherwise: 4,
    });
    expect((await ptc(["storage", "reencrypt"])).stdout).toBe(
      "encrypted 4 values with the first key; 0 had it already\n",
    );
    const later = await use(NEW);
    expect(await later.logins.read(LOGIN_KEY)).toEqual(LOGIN);
    expect(await later.logins.version(LOGIN_KEY)).toBe(version);
    expect(await later.approvals.list("local")).toMatchObject([{ request: { tool: request.tool } }]);
    const lost = await use(randomBytes(32).toString("base64"));
    await expect(lost.logins.read(LOGIN_KEY)).rejects.toThrow(
      /a key that storage.encryption_key does not list/,
    );
    expect(await ptc(["storage", "reencrypt"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("4 values cannot be read"),
    });
    await db.close();
  });

  it("secrets of storage are read from where ptc.yaml says, and told apart from what cannot be used", async () => {
    const url = server().url();
    const { project, ptc } = projectInProcess({
      storage: { url: { env: "DATABASE" }, encryption_key: [{ file: "key" }] },
    });
    project.write("key", `${OLD}\n`);
    expect(await ptc(["storage", "migrate"], { DATABASE: url })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("had no tables, and has version"),
    });
    expect((await ptc(["storage", "migrate"], { DATABASE: url })).stdout).toMatch(/has version \d+ already/);
    expectRefusal(await ptc(["storage", "status"]), "DATABASE is not set in the environment", 1);
    project.write("other-key", "short\n");
    project.write("ptc.yaml", { storage: { url, encryption_key: { file: "other-key" } } });
    expectRefusal(
      await ptc(["storage", "status"], { DATABASE: url }),
      "storage.encryption_key[0]: must be 32 bytes in base64",
      1,
    );
    for (const [settings, message] of [
      [{ url: "mysql://x/y", encryption_key: OLD }, "storage.url: must be a URL of PostgreSQL"],
      [{ url }, "storage.url: needs `encryption_key` beside it"],
      [{ encryption_key: OLD }, "storage.encryption_key: says nothing without `url`"],
      [{ url, encryption_key: "short" }, "storage.encryption_key[0]: must be 32 bytes"],
      [{ url, encryption_key: [] }, "storage.encryption_key: must have at least one key"],
    ] as const) {
      project.write("ptc.yaml", { storage: settings });
      expectRefusal(await ptc(["storage", "status"]), message);
    }
    project.write("ptc.yaml", {});
    expect((await ptc(["storage", "status"])).stdout).toMatch(/^files of this machine/);
    expectRefusal(await ptc(["storage", "reencrypt"]), "has no storage.url");
    const password = "hunter2hunter2";
    project.write("ptc.yaml", { storage: storage(`postgres://ptc:${password}@127.0.0.1:1/none`) });
    const refused = await ptc(["storage", "status"]);
    expectRefusal(refused, "PostgreSQL (none at 127.0.0.1:1) cannot be reached", 1);
    expect(refused.stderr).not.toContain(password);
  });
});
