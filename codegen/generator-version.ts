/** Which generator this is. Another number for every change that gives the same definitions another text. */
export const GENERATOR = "2";
