import { type BigIntStats, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../base/faults.ts";
import { canonicalJson } from "../protocol/canonical-json.ts";
import type { Configuration } from "./configuration.ts";
import { configurationPaths, type FindOptions } from "./configuration-paths.ts";
import { configurationOf, type FoundConfiguration, findConfiguration } from "./load.ts";
import { MANAGED_PLACES, readManagedSettings } from "./managed-settings.ts";
import { type PolicyFile, readPolicyFile } from "./policy-files.ts";

/** How often the file is checked while ptc is idle. */
const LOOK_MS = 1_000;
/** An edit counts when the file has not changed for this long: an editor may have written half of the file. */
const SETTLE_MS = 50;
const MAX_SETTLING = 40;
/** Some file systems date files in steps of two seconds. A younger file is read even if its state has not changed. */
const YOUNG_MS = 2_500;

/** Puts a new configuration into use. @throws Error when it cannot be used. The earlier one then stays in force. */
export type ApplyConfiguration = (next: Configuration) => Promise<void>;

export interface FollowOptions extends FindOptions {
  /** Receives one line for each edit: that it is in force, or why it is not. */
  onEdit: (message: string) => void;
}

/** The content of the files when they were last read. */
interface Reading {
  found?: FoundConfiguration | undefined;
  /** The content of the rule files that the configuration names. */
  rules?: string | undefined;
  /** The content of the managed settings. */
  managed?: string | undefined;
  error?: unknown;
}

/**
 * The configuration of a ptc that keeps running while its file is edited. `refresh` is called before everything that depends on the
 * configuration, so that no edit is missed. `watch` finds edits in between. An unusable edit changes nothing but `problem`.
 */
export class FollowedConfiguration {
  readonly #options: FollowOptions;
  readonly #paths: readonly string[];
  #current: Configuration;
  /** The configuration that was parsed last, in force or not. The rule files that it names are watched too. */
  #tried: Configuration;
  #problem: string | undefined;
  #apply: ApplyConfiguration = async () => {};
  #reading: Reading;
  #version: string;
  #isYoung = true;
  /** A check that has not begun, which sees every edit until it does. */
  #next: Promise<void> | undefined;
  #checking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: FollowOptions, version: string, reading: Reading, current: Configuration) {
    this.#options = options;
    this.#paths = configurationPaths(options);
    this.#version = version;
    this.#reading = reading;
    this.#current = current;
    this.#tried = current;
  }

  /** @throws ConfigurationError when the configuration cannot be used to begin with. */
  static async open(options: FollowOptions): Promise<FollowedConfiguration> {
    const { version } = look(configurationPaths(options));
    const found = await findConfiguration(options);
    const current = configurationOf(found, options);
    const reading = {
      found,
      rules: rulesIn(filesOf(current)),
      managed: canonicalJson(current.managed),
    };
    const { version: rules } = look([], otherPaths(current, options));
    return new FollowedConfiguration(options, version + rules, reading, current);
  }

  /** The configuration that is in force. */
  get current(): Configuration {
    return this.#current;
  }

  /** Why the present file is not in force, in one line; `undefined` when it is. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Calls `apply` with every later configuration, before it is in force. */
  use(apply: ApplyConfiguration): void {
    this.#apply = apply;
  }

  /** Looks for edits from time to time, until `stop`. */
  watch(): void {
    this.#timer ??= setInterval(() => void this.refresh(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Resolves when every edit until now is in force, or is known to be unusable. Never rejects. */
  refresh(): Promise<void> {
    this.#next ??= this.#checking.then(() => {
      this.#next = undefined;
      this.#checking = this.#check();
      return this.#checking;
    });
    return this.#next;
  }

  async #check(): Promise<void> {
    const before = this.#tried;
    try {
      const { version, isYoung } = look(this.#paths, otherPaths(this.#tried, this.#options));
      if (version === this.#version && !this.#isYoung) return;
      const now = await this.#read();
      if (!isSame(now, this.#reading)) await this.#adopt(await this.#settled(now));
      // Other rule files may be in force by now.
      this.#version = this.#tried === before ? version : "";
      this.#isYoung = isYoung;
    } catch (error) {
      this.#refuse(error);
    }
  }

  async #adopt(reading: Reading): Promise<void> {
    const { file } = this.#current;
    const isSameText = reading.found?.text === this.#reading.found?.text;
    const isManaged = reading.managed !== this.#reading.managed;
    this.#reading = reading;
    try {
      if (reading.error !== undefined) throw reading.error;
      if (reading.found === undefined && file !== undefined) throw new Error(`${file} is gone`);
      const next = configurationOf(reading.found, this.#options);
      this.#tried = next;
      const managed = canonicalJson(next.managed);
      this.#reading = { ...reading, rules: rulesIn(filesOf(next)), managed };
      await this.#apply(next);
      const restart = needsRestart(this.#current, next);
      this.#current = next;
      this.#problem = undefined;
      const but = restart === undefined ? "" : `; ${restart} as before until ptc is started again`;
      const what = isManaged
        ? "the managed settings were edited, and are"
        : isSameText && filesOf(next).length > 0
          ? "the files of rules were edited, and are"
          : `${next.file ?? "the configuration"} was edited, and is`;
      this.#options.onEdit(`${what} in force${but}`);
    } catch (error) {
      this.#refuse(error);
    }
  }

  #refuse(error: unknown): void {
    const problem = `the configuration was edited and cannot be used, so the earlier one is still in force: ${messageOf(error)}`;
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.onEdit(problem);
  }

  async #read(): Promise<Reading> {
    try {
      const found = await findConfiguration(this.#options);
      const rules = rulesIn(filesOf(this.#tried).map(({ path }) => readPolicyFile(path, "/", "")));
      return { found, rules, managed: canonicalJson(readManagedSettings(this.#options.managedPlaces)) };
    } catch (error) {
      return { error };
    }
  }

  /** The content of the files when they are no longer being written. */
  async #settled(first: Reading): Promise<Reading> {
    let before = first;
    for (let i = 0; i < MAX_SETTLING; i++) {
      await delay(SETTLE_MS);
      const now = await this.#read();
      if (isSame(now, before)) return now;
      before = now;
    }
    return { error: new Error("it is being written again and again") };
  }
}

/** All watched files besides the configuration itself. */
function otherPaths(configuration: Configuration, { managedPlaces = MANAGED_PLACES }: FindOptions): string[] {
  const rules = [...filesOf(configuration), ...configuration.managed.flatMap(({ policy }) => policy.files)];
  return [...rules, ...managedPlaces].map(({ path }) => path);
}

/** The files of rules and of lists. */
function filesOf({ policy, lists }: Configuration): readonly PolicyFile[] {
  return [...policy.files, ...lists.files];
}

/** The content of rule files, and which of them cannot be read. */
function rulesIn(files: Configuration["policy"]["files"]): string {
  return JSON.stringify(files.map(({ path, text, problem }) => [path, text, problem !== undefined]));
}

/** The settings that differ and are read only when ptc starts. */
function needsRestart(before: Configuration, next: Configuration): string | undefined {
  const edited = [
    ...(before.archive.path === next.archive.path ? [] : ["archive.path"]),
    ...(before.archive.keepDays === next.archive.keepDays ? [] : ["archive.keep_days"]),
    ...(canonicalJson(before.audit) === canonicalJson(next.audit) ? [] : ["audit"]),
    ...(isSameStorage(before, next) ? [] : ["storage"]),
  ];
  return edited.length === 0 ? undefined : edited.join(" and ");
}

/** Whether the storage is the same, wherever it stands in the file. */
function isSameStorage(before: Configuration, next: Configuration): boolean {
  const [a, b] = [before, next].map(({ storage: { url, encryptionKeys } }) =>
    JSON.stringify([url, ...encryptionKeys], (key, value: unknown) => (key === "place" ? undefined : value)),
  );
  return a === b;
}

function isSame(a: Reading, b: Reading): boolean {
  const errors = [a, b].map(({ error }) => (error === undefined ? undefined : messageOf(error)));
  return (
    errors[0] === errors[1] &&
    a.rules === b.rules &&
    a.managed === b.managed &&
    a.found?.path === b.found?.path &&
    a.found?.text === b.found?.text
  );
}

/**
 * A text that changes whenever one of the files is edited or replaced, or the target of a link to it. It is computed before every
 * call. Synchronous calls take a tenth of the time here.
 *
 * @param candidates only the first that exists counts.
 */
function look(
  candidates: readonly string[],
  others: readonly string[] = [],
): { version: string; isYoung: boolean } {
  let version = "";
  let isYoung = false;
  const lookAt = (path: string): boolean => {
    const file = stateOf(path);
    version += ",";
    if (file === undefined) return false;
    version += `${file.dev} ${file.ino} ${file.size} ${file.mtimeNs} ${file.ctimeNs}`;
    isYoung ||= Date.now() - Number(file.ctimeMs) < YOUNG_MS;
    return true;
  };
  candidates.find(lookAt);
  for (const path of others) lookAt(path);
  return { version, isYoung };
}

function stateOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
