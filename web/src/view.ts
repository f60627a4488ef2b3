// What all runs of a page show alike: instant, stretch, flow.

/** The shortest view, ns. */
const SHORTEST = 2000;

export class View {
  cursor = 0;
  from = 0;
  to: number;
  flow: number | null = null;
  /** Whether the time lines show only stations that send in view. */
  onlyActive = false;
  playing = false;
  /** Simulated seconds in a second. */
  speed = 0.01;

  /** `end` is that of the longest run, ns. */
  constructor(public end: number) {
    this.to = end;
  }

  /** Shows what another view has shown. */
  follow({ cursor, from, to, onlyActive, playing, speed }: View): void {
    Object.assign(this, { cursor: Math.min(cursor, this.end), onlyActive, playing, speed });
    this.show(from, to);
  }

  /** Shows this stretch, moved into the run. */
  show(from: number, to: number): void {
    const span = Math.min(this.end, Math.max(SHORTEST, to - from));
    this.from = Math.max(0, Math.min(this.end - span, from));
    this.to = this.from + span;
  }

  moveTo(at: number): void {
    this.cursor = Math.max(0, Math.min(this.end, at));
    const span = this.to - this.from;
    if (this.cursor < this.from || this.cursor > this.to) {
      this.show(this.cursor - span / 4, this.cursor + (span * 3) / 4);
    }
  }

  /** Zooms by a factor around an instant. */
  zoom(factor: number, around = this.cursor): void {
    const centre = around >= this.from && around <= this.to ? around : (this.from + this.to) / 2;
    this.show(centre - (centre - this.from) * factor, centre + (this.to - centre) * factor);
  }

  /** Moves the cursor on while playing, at most to `limit`; `elapsed` in wall-clock seconds. */
  play(elapsed: number, limit: number): void {
    const next = this.cursor + elapsed * this.speed * 1e9;
    if (next >= this.end) {
      this.playing = false;
    }
    this.cursor = Math.max(this.cursor, Math.min(next, this.end, limit));
    const span = this.to - this.from;
    if (this.cursor > this.from + span * 0.8) {
      this.show(this.cursor - span * 0.2, this.cursor + span * 0.8);
    }
  }
}
