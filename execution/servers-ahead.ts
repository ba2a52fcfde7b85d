/**
 * The servers that a program names, which start while its sandbox does, so that its first calls find them ready. Nobody waits for
 * them: what fails is told by the call that comes to it.
 */
export class ServersAhead {
  readonly #startServer: (module: string) => Promise<void>;
  readonly #most: number;
  readonly #named = new Set<string>();
  #waiting: string[] = [];
  #active = 0;
  #isOver = false;

  /**
   * @param startServer starts the server of a module; without it, none is started.
   * @param most how many are started at the same time.
   */
  constructor(startServer: ((module: string) => Promise<void>) | undefined, most: number) {
    this.#startServer = startServer ?? (async () => {});
    this.#most = most;
  }

  /** Starts the server of a module when its turn comes, once. */
  start(module: string): void {
    if (this.#isOver || this.#named.has(module)) return;
    this.#named.add(module);
    this.#waiting.push(module);
    this.#pump();
  }

  /** Starts no further server. Those that were started stay with the host, which ends what is not called. */
  end(): void {
    this.#isOver = true;
    this.#waiting = [];
  }

  #pump(): void {
    while (this.#active < this.#most) {
      const module = this.#waiting.shift();
      if (module === undefined) return;
      this.#active++;
      const ended = () => {
        this.#active--;
        this.#pump();
      };
      this.#startServer(module).then(ended, ended);
    }
  }
}
