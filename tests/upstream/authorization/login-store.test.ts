import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Keyring, KeyringError } from "../../../secrets/keyring.ts";
import { AuthorizationError } from "../../../upstream/authorization/authorization.ts";
import {
  FileLoginStore,
  includesScopes,
  isSameIssuer,
  type Login,
  type LoginKey,
  loginName,
  uniteScopes,
} from "../../../upstream/authorization/login-store.ts";
import { newFolder } from "../../temporary-folder.ts";

const KEY: LoginKey = {
  principal: "ada",
  server: "hub",
  url: "https://hub.example/mcp",
  clientId: undefined,
};
const LOGIN: Login = {
  ...{ version: 1, principal: KEY.principal, url: KEY.url },
  ...{ issuer: "https://auth.example", tokenEndpoint: "https://auth.example/token" },
  ...{ client: { id: "c", kind: "registered" }, accessToken: "a1" },
};

/** A keyring in memory. `fault` is thrown by each access while it is set. */
function memoryKeyring() {
  const values = new Map<string, string>();
  const state: { fault?: Error } = {};
  const access = async <T>(work: () => T): Promise<T> => {
    if (state.fault !== undefined) throw state.fault;
    return work();
  };
  const keyring: Keyring = {
    name: "Secret Service",
    get: (account) => access(() => values.get(account)),
    set: (account, value) => access(() => void values.set(account, value)),
    delete: (account) => access(() => values.delete(account)),
  };
  return { keyring, values, state };
}

function setUp(keyring?: Keyring) {
  const folder = join(newFolder(), "logins");
  const open = () => new FileLoginStore({ folder, keyring: async () => keyring });
  const path = join(folder, `${loginName(KEY)}.json`);
  /** Writes the file of the login as something else. */
  const spoil = (text: string) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, text);
  };
  return { folder, path, open, store: open(), spoil };
}

async function problemOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(AuthorizationError);
    return (error as Error).message;
  }
  throw new Error("it was done");
}

describe("a login", () => {
  it("is kept in a file for its owner alone, where there is no keyring, until it is removed", async () => {
    const { folder, path, store, open } = setUp();
    expect([await store.read(KEY), await store.place(KEY), await store.version(KEY)]).toEqual([
      undefined,
      undefined,
      "",
    ]);
    expect(await store.remove(KEY)).toBe(false);
    await store.write(KEY, LOGIN);
    expect([statSync(folder).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600]);
    const [other, version] = [open(), await store.version(KEY)];
    expect([await other.read(KEY), await other.place(KEY)]).toEqual([LOGIN, path]);
    expect(await other.version(KEY)).toBe(version);
    await other.write(KEY, { ...LOGIN, accessToken: "a2" });
    expect(await store.version(KEY)).not.toBe(version);
    expect((await store.read(KEY))?.accessToken).toBe("a2");
    expect(readdirSync(folder)).toEqual([`${loginName(KEY)}.json`]);
    expect(await store.remove(KEY)).toBe(true);
    expect([await store.read(KEY), readdirSync(folder)]).toEqual([undefined, []]);
  });

  it("is kept in the keyring where there is one, and its file says only that", async () => {
    const { keyring, values } = memoryKeyring();
    const { path, store, open } = setUp(keyring);
    await store.write(KEY, LOGIN);
    expect(readFileSync(path, "utf8")).toBe('{"version":1,"in":"keyring"}');
    expect([...values]).toEqual([[`login hub ${loginName(KEY)}`, JSON.stringify(LOGIN)]]);
    expect([await open().read(KEY), await open().place(KEY)]).toEqual([LOGIN, "Secret Service"]);
    expect(await open().remove(KEY)).toBe(true);
    expect([values.size, await store.read(KEY), await store.version(KEY)]).toEqual([0, undefined, ""]);
  });

  it("is kept in a file where the keyring does not take it, and nowhere after any other fault", async () => {
    const { keyring, state } = memoryKeyring();
    const { path, store } = setUp(keyring);
    state.fault = new KeyringError("it is locked");
    await store.write(KEY, LOGIN);
    expect(await store.place(KEY)).toBe(path);
    expect(await store.read(KEY)).toEqual(LOGIN);
    state.fault = new Error("planted");
    await expect(store.write(KEY, { ...LOGIN, accessToken: "a2" })).rejects.toBe(state.fault);
    expect(await store.read(KEY)).toEqual(LOGIN);
  });

  it("in a keyring that cannot be used is neither read nor removed", async () => {
    const { keyring, state, values } = memoryKeyring();
    const { store } = setUp(keyring);
    await store.write(KEY, LOGIN);
    state.fault = new KeyringError("it is locked");
    for (const work of [() => store.read(KEY), () => store.remove(KEY)])
      expect(await problemOf(work)).toBe("has a login that cannot be read: it is locked");
    state.fault = new Error("planted");
    await expect(store.read(KEY)).rejects.toBe(state.fault);
    await expect(store.remove(KEY)).rejects.toBe(state.fault);
    delete state.fault;
    expect(await store.read(KEY)).toEqual(LOGIN);
    values.clear();
    expect(await store.read(KEY)).toBeUndefined();
  });

  it.each([
    [{ principal: "bob" }],
    [{ url: "https://hub.example/other" }],
    [{ version: 2 }],
    [{ issuer: undefined }],
    [{ client: { id: "c", kind: "stolen" } }],
  ])("that says %j is not this one", async (change) => {
    const { store, spoil } = setUp();
    spoil(JSON.stringify({ version: 1, in: "file", login: { ...LOGIN, ...change } }));
    expect(await store.read(KEY)).toBeUndefined();
  });

  it.each([
    ["no JSON", "{"],
    ["another version", JSON.stringify({ version: 2, in: "file", login: LOGIN })],
    ["another place", JSON.stringify({ version: 1, in: "elsewhere", login: LOGIN })],
    ["no login", JSON.stringify({ version: 1, in: "file" })],
    [
      "more than a login needs",
      JSON.stringify({ version: 1, in: "file", login: LOGIN, x: "x".repeat(2 ** 20) }),
    ],
    [
      "what nests too deeply",
      `{"version":1,"in":"file","login":${JSON.stringify(LOGIN)},"x":${"[".repeat(17)}${"]".repeat(17)}}`,
    ],
  ])("whose file holds %s is none", async (_, text) => {
    const { store, spoil } = setUp();
    spoil(text);
    expect(await store.read(KEY)).toBeUndefined();
    await store.write(KEY, LOGIN);
    expect(await store.read(KEY)).toEqual(LOGIN);
  });

  it("whose file cannot be read or written is reported with what to check", async () => {
    const { folder, path, store } = setUp();
    mkdirSync(path, { recursive: true });
    const unreadable = `has a login that cannot be read (EISDIR); check ${path}`;
    for (const work of [() => store.read(KEY), () => store.place(KEY), () => store.remove(KEY)])
      expect(await problemOf(work)).toBe(unreadable);
    expect(await problemOf(() => store.write(KEY, LOGIN))).toBe(
      `has a login that cannot be written (EISDIR); check ${folder}`,
    );
    expect(readdirSync(folder)).toEqual([`${loginName(KEY)}.json`]);
  });

  it("is not kept in a folder that others may write, or that cannot be made", async () => {
    const { folder, store } = setUp();
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o777);
    const write = () => store.write(KEY, LOGIN);
    expect(await problemOf(write)).toBe(
      `needs a folder for logins: ${folder} may be written by everybody; chmod 700 ${folder}`,
    );
    chmodSync(folder, 0o755);
    await write();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    rmSync(folder, { recursive: true });
    writeFileSync(folder, "");
    expect(await problemOf(write)).toBe(`needs a folder for logins: ${folder} cannot be made (EEXIST)`);
  });

  it("is kept where users have no ids", async () => {
    const { getuid } = process;
    Object.assign(process, { getuid: undefined });
    onTestFinished(() => void Object.assign(process, { getuid }));
    const { store } = setUp();
    await store.write(KEY, LOGIN);
    expect(await store.read(KEY)).toEqual(LOGIN);
  });

  it("is changed by one process at a time", async () => {
    const { store, open } = setUp();
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const holding = store.withLock(KEY, async () => {
      begun.resolve();
      await first.promise;
      order.push("first");
      return 1;
    });
    await begun.promise;
    const waiting = open().withLock(KEY, async () => order.push("second"));
    first.resolve();
    expect(await holding).toBe(1);
    await waiting;
    expect(order).toEqual(["first", "second"]);
    await expect(store.withLock(KEY, () => Promise.reject(new Error("planted")))).rejects.toThrow("planted");
    expect(await store.withLock(KEY, async () => "free")).toBe("free");
  });
});

const all = { ...KEY, clientId: "c" };
it.each<[string, LoginKey]>([
  ["principal", { ...all, principal: "bob" }],
  ["server", { ...all, server: "other" }],
  ["url", { ...all, url: "https://other.example/mcp" }],
  ["client", { ...all, clientId: "d" }],
  ["missing client", KEY],
])("the name of a login reveals nothing, and is another for another %s", (_, other) => {
  for (const key of [all, other]) expect(loginName(key)).toMatch(/^[0-9a-f]{32}$/);
  expect(loginName(other)).not.toBe(loginName(all));
  expect(loginName({ ...other })).toBe(loginName(other));
});

it.each([
  ["https://a.example", "https://a.example/", true],
  ["https://a.example/", "https://a.example", true],
  ["https://a.example/b", "https://a.example", false],
  ["https://a.example//", "https://a.example", false],
])("%s and %s are the same issuer: %s", (one, other, isSame) => {
  expect(isSameIssuer(one, other)).toBe(isSame);
});

it.each<[(string | undefined)[], string | undefined]>([
  [[], undefined],
  [[undefined, "", " "], undefined],
  [["b a", undefined, "a  c"], "b a c"],
])("the scopes of %j together are %j", (scopes, united) => {
  expect(uniteScopes(...scopes)).toBe(united);
});

it.each<[string | undefined, string | undefined, boolean]>([
  ["a b", "b", true],
  ["a b", undefined, true],
  [undefined, undefined, true],
  ["a", "a b", false],
  [undefined, "a", false],
])("%j includes %j: %s", (granted, wanted, isIncluded) => {
  expect(includesScopes(granted, wanted)).toBe(isIncluded);
});
