/**
 * What the process of an interpreter gives to the code inside it. Texts, numbers and bytes alone cross this border. The code inside is
 * as untrusted as the program: it shares the program's realm.
 */
export interface HostFunctions {
  /** Sends a call, and returns its id. `argumentsJson` is empty for arguments that are no JSON value. Throws for too large ones. */
  call(tool: string, argumentsJson: string, raw: boolean): number;
  emit(blockJson: string): void;
  /** Prints to the program's output (`out`) or to its log (`err`). */
  print(stream: string, text: string): void;
  /** Sets a timer, and returns its id. */
  setTimer(delayMs: number, kind: string): number;
  clearTimer(id: number): void;
  /** Whether the program waits for the timer before it ends. */
  keepTimer(id: number, isKept: boolean): void;
  /** Milliseconds since 1970, by the program's clock. */
  nowMs(): number;
  /** Hundredths of a millisecond since the program started. */
  ticks(): number;
  /** When the program started, in milliseconds since 1970. */
  startedMs(): number;
  /** In [0, 1). */
  random(): number;
  /** @throws RangeError for more than a program can hold. */
  randomBytes(count: number): ArrayBuffer;
  /** @throws Error for an algorithm that is not known. */
  hash(algorithm: string, bytes: ArrayBuffer): ArrayBuffer;
  hmac(algorithm: string, key: ArrayBuffer, bytes: ArrayBuffer): ArrayBuffer;
  /** Calls a function of node:path with POSIX paths. `argumentsJson` is a list. Returns JSON. @throws TypeError */
  path(name: string, argumentsJson: string): string;
  /**
   * Local time by `Date` of the process. `values` is a text for `parse`, else numbers with commas: those of `new`, or the time and then
   * what a method takes. Returns a number or a text.
   */
  date(method: string, values: string): string;
  /** Formats or compares values by a locale. `argumentsJson` is a list that begins with the value as a text. @throws RangeError */
  locale(method: string, argumentsJson: string): string;
  /** Ends the program. */
  exit(code: number): void;
}

export const HOST_FUNCTION_NAMES = [
  "call",
  "emit",
  "print",
  "setTimer",
  "clearTimer",
  "keepTimer",
  "nowMs",
  "ticks",
  "startedMs",
  "random",
  "randomBytes",
  "hash",
  "hmac",
  "path",
  "date",
  "locale",
  "exit",
] as const satisfies readonly (keyof HostFunctions)[];

/** What the code inside gives to its process. All are functions of texts and numbers, called by their names. */
export interface InsideFunctions {
  /** Prepares for a program. `isExact` if marked texts in JSON are BigInts. */
  begin(dataJson: string, isExact: boolean): void;
  /** Takes the evaluation of the program's module, a promise. */
  watch(evaluation: unknown): void;
  /** Delivers the answer to a call, a `ReplyMessage` as JSON. */
  answer(id: number, replyJson: string): void;
  fire(timer: number): void;
  /** The state of the evaluation: `running`, `ended`, or the JSON of a failure. */
  state(): string;
  /** Describes something that was thrown. Returns the JSON of a failure. */
  describe(thrown: unknown): string;
  /** Puts the settled value of a result that is a promise in its place, and returns whether there is something to wait for. */
  settleResult(): boolean;
  /** Whether the program has set a result. */
  hasResult(): boolean;
  exitCode(): number;
  /** The program's result as JSON of a `DataJson`, or an empty text if it has none. `maxJson` is a `max_result`, or empty. */
  result(maxOutputBytes: number, maxJson: string): string;
}

/** Stands before the digits of a whole number beyond 2^53 in JSON for a program that gets them as BigInts. */
export const BIG_MARK = "\ue36f";

/** Stands for the JSON of a failure if the program has used more memory than it has. */
export const OUT_OF_MEMORY = "out of memory";

/** The file of the program's module in stacks inside. */
export const BUNDLE_FILE = "ptc:program.mjs";
