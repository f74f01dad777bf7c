"""A minimal serving engine whose every decision can be switched, to measure what each is worth.

``Engine`` (``serve.py``) takes requests and makes steps. A step's plan comes from the ``Scheduler``
(``schedule.py``), which hands out blocks of the key-value cache (``blocks.py``) and knows no GPU.
The ``Runner`` (``runner.py``) packs plans (``pack.py``) and carries them out: ``model.py`` on the
kernels of ``kernels.py``, or, on a CPU, of ``reference.py``. ``capture.py`` makes it ready.

The ideas are public: paged attention and its block tables (Kwon et al., SOSP 2023), prefill in
chunks beside decodes (Agrawal et al., OSDI 2024), scheduling by step (Yu et al., OSDI 2022).
"""
