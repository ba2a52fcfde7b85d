/**
 * Starts the servers that a program names while its sandbox starts, so that its first calls find them ready. Nobody waits for them.
 * The first call to a server reports its failure.
 */
export class ServersAhead {
  readonly #startServer: (module: string) => Promise<void>;
  readonly #most: number;
  readonly #named = new Set<string>();
  #waiting: string[] = [];
  #active = 0;
  #isOver = false;

  /**
   * @param startServer starts the server of a module. Without it, no server is started.
   * @param most how many servers start at the same time.
   */
  constructor(startServer: ((module: string) => Promise<void>) | undefined, most: number) {
    this.#startServer = startServer ?? (async () => {});
    this.#most = most;
  }

  /** Starts the server of a module once, when its turn comes. */
  start(module: string): void {
    if (this.#isOver || this.#named.has(module)) return;
    this.#named.add(module);
    this.#waiting.push(module);
    this.#pump();
  }

  /** Starts no further server. Started servers stay with the host, which ends those that nobody calls. */
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
