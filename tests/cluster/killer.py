"""Kills a controller behind a proxy after its writes, and starts it again."""

import threading


class EveryNth(dict):
    """For FaultProxy.on_write: a fault after each n-th write."""

    def __init__(self, stride, offset, fault):
        super().__init__()
        self.stride, self.offset, self.fault = stride, offset, fault

    def pop(self, number, default=None):
        return self.fault if number % self.stride == self.offset % self.stride else default


class Killer:
    """Kills the controller when the proxy says so, and starts it again."""

    def __init__(self, controller):
        self.kills = 0
        self._controller = controller
        self._mutex = threading.Lock()  # held while the controller ends or starts
        self._dead = False
        self._called = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._revive, daemon=True)
        self._thread.start()

    def kill(self):
        with self._mutex:
            if not self._dead and not self._ended:
                self._controller.kill()
                self.kills += 1
                self._dead = True
        self._called.set()

    def end(self):
        """After the last kill. The controller runs when this returns."""
        with self._mutex:
            self._ended = True
        self._called.set()
        self._thread.join()
        # The kernel ends a program whose starting thread has ended (PR_SET_PDEATHSIG).
        self._controller.stop()
        self._controller.start()

    def _revive(self):
        while not self._ended:
            self._called.wait()
            self._called.clear()
            with self._mutex:
                if self._dead:
                    self._controller.start()
                    self._dead = False
