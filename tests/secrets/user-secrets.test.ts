import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Keyring, KeyringError } from "../../secrets/keyring.ts";
import { UserSecrets } from "../../secrets/user-secrets.ts";
import { newFolder } from "../temporary-folder.ts";

class MemoryKeyring implements Keyring {
  readonly name = "memory";
  readonly values = new Map<string, string>();
  isLocked = false;
  async get(account: string) {
    return this.values.get(account);
  }
  async set(account: string, value: string) {
    if (this.isLocked) throw new KeyringError("the keyring is locked");
    this.values.set(account, value);
  }
  async delete(account: string) {
    return this.values.delete(account);
  }
}

function setUp() {
  const folder = newFolder();
  return { folder, env: { XDG_STATE_HOME: folder } };
}

test("without a keyring, a secret is in a file of the user's, and is found there when a keyring has come", async () => {
  const { folder, env } = setUp();
  const without = new UserSecrets(env, async () => undefined);
  expect(await without.set("hub", "one")).toMatchObject({
    ok: true,
    where: expect.stringContaining(join(folder, "ptc/secrets.json")),
  });
  const keyring = new MemoryKeyring();
  const secrets = new UserSecrets(env, async () => keyring);
  expect(await secrets.get("hub")).toBe("one");
  expect(await secrets.set("hub", "two")).toEqual({ ok: true, where: "the system's keyring (memory)" });
  expect(readFileSync(join(folder, "ptc/secrets.json"), "utf8")).not.toContain("one");
  expect([await secrets.get("hub"), await without.get("hub")]).toEqual(["two", undefined]);
  expect([...keyring.values.keys()]).toEqual(["secret/hub"]);
  expect(await secrets.delete("hub")).toEqual({ ok: true, wasThere: true });
  expect(await secrets.delete("hub")).toEqual({ ok: true, wasThere: false });
});

test("a keyring that cannot be written is reported, and the secret goes nowhere else", async () => {
  const { folder, env } = setUp();
  const keyring = new MemoryKeyring();
  keyring.isLocked = true;
  const secrets = new UserSecrets(env, async () => keyring);
  expect(await secrets.set("hub", "one")).toEqual({ ok: false, why: "the keyring is locked" });
  expect(() => readFileSync(join(folder, "ptc/secrets.json"))).toThrow();
});
