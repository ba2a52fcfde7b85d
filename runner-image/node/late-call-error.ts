/** A call from code that an ended program has left behind. */
export class LateCallError extends Error {
  constructor() {
    super("the program that it belongs to has ended");
  }
}
