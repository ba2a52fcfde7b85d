import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hideFromGit } from "../../system/private-folder.ts";

describe("a private folder in a git repository", () => {
  let repository = "";
  beforeEach(() => {
    repository = mkdtempSync(join(tmpdir(), "ptc-"));
    execFileSync("git", ["init", "--quiet", repository]);
  });
  afterEach(() => rmSync(repository, { recursive: true, force: true }));

  function folder(name: string): string {
    const path = join(repository, name);
    mkdirSync(path);
    writeFileSync(join(path, "archive.db"), "private");
    return path;
  }

  const status = () =>
    execFileSync("git", ["-C", repository, "status", "--porcelain"], { encoding: "utf8" }).trim();

  it.each([
    ["kept", true],
    [".ptc", false],
  ])("does not show when it is %s (new: %s)", (name, isNew) => {
    hideFromGit(folder(name), isNew);
    expect(status()).toBe("");
  });

  it("hides nothing of a folder to which a link leads", () => {
    folder("data");
    symlinkSync("data", join(repository, ".ptc"));
    hideFromGit(join(repository, ".ptc"), false);
    expect(status()).toBe("?? .ptc\n?? data/");
  });

  it("shows as before when it is another one that was there", () => {
    hideFromGit(folder("data"), false);
    expect(status()).toBe("?? data/");
  });

  it("keeps the .gitignore that its user wrote", () => {
    const path = folder(".ptc");
    writeFileSync(join(path, ".gitignore"), "*.tmp\n");
    hideFromGit(path, false);
    expect(readFileSync(join(path, ".gitignore"), "utf8")).toBe("*.tmp\n");
  });
});
