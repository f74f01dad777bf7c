// A browser starts no worker from a file: pages opened from a folder run the search in a hidden frame.
"use strict";

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.documentElement.append(this.frame);
      const inner = this.frame.contentWindow;
      const script = inner.document.createElement("script");
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = () => undefined;
      script.src = url;
      script.onload = () => {
        this.loaded = true;
        for (const data of this.waiting.splice(0)) this.postMessage(data);
      };
      inner.document.head.append(script);
    }
    postMessage(data) {
      if (!this.loaded) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
