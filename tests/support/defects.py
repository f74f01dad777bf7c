"""Defects that the suite has to refuse: what a hasty change could do to a promise."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Defect:
    """A defect ``name``: ``old`` of ``file``, which stands there once, becomes ``new``.

    The test ``killer`` must fail by it.
    """

    name: str
    file: str
    old: str
    new: str
    killer: str


_READERS = (
    Defect(
        "nanoseconds for microseconds in a torch trace",
        "harness/captures/torch/columns.py",
        "return whole * 1000 + ((values - whole) * 1000 + 0.5).cast(pl.Int64)",
        "return whole",
        "tests/captures/torch/test_read.py::test_real_traces_are_read_as_the_plain_loop_reads_them",
    ),
    Defect(
        "nanoseconds are cut, not rounded",
        "harness/captures/torch/columns.py",
        "((values - whole) * 1000 + 0.5)",
        "((values - whole) * 1000)",
        "tests/captures/torch/test_read.py::test_real_traces_are_read_as_the_plain_loop_reads_them",
    ),
    Defect(
        "the first kernel is dropped",
        "harness/captures/nsys/rows.py",
        "return rows.filter((start != 0) | (end != 0))",
        "return rows.filter((start != 0) | (end != 0)).slice(1)",
        "tests/captures/nsys/test_read.py::test_kernels_agree_with_nsys_to_the_nanosecond",
    ),
    Defect(
        "a row without a time is an operation at time 0",
        "harness/captures/nsys/rows.py",
        "return rows.filter((start != 0) | (end != 0))",
        "return rows",
        "tests/captures/nsys/test_read.py::test_a_kernel_without_times_is_left_out",
    ),
    Defect(
        "processes of one export share correlation ids",
        "harness/captures/nsys/rows.py",
        "ids += process_id(process) * (1 << 32)",
        "pass",
        "tests/captures/nsys/test_read.py::test_launches_of_two_processes_with_the_same_ids_are_told_apart",
    ),
    Defect(
        "fewer kernels than the report announces are enough",
        "harness/captures/ncu/read.py",
        "if launches != announced:",
        "if launches > announced:",
        "tests/captures/ncu/test_read.py::test_fewer_kernels_than_announced_are_refused",
    ),
    Defect(
        "a path of an archive may lead out of its folder",
        "harness/contribute/receive.py",
        "        if not is_report or not all(map(files.is_safe, parts)):\n",
        "        if not is_report:\n",
        "tests/contribute/test_contribution.py::test_an_archive_of_anything_else_is_refused",
    ),
    Defect(
        "a header of an archive is believed",
        "harness/contribute/receive.py",
        "        _check_headers(plain, archive)\n",
        "",
        "tests/contribute/test_contribution.py::test_a_header_is_believed_nothing",
    ),
    Defect(
        "the memory of a command is not limited",
        "harness/ground/bounded.py",
        "    confined_server.limit(resource.RLIMIT_DATA, memory)\n",
        "",
        "tests/test_bounded.py::test_memory_beyond_what_a_file_may_take_is_refused_in_one_line",
    ),
    Defect(
        "numbers that nothing measures are read",
        "harness/captures/reading.py",
        "        if odd := measurable.mistake(table):\n",
        "        if False and (odd := measurable.mistake(table)):\n",
        "tests/captures/test_reading.py::test_whole_numbers_whose_sums_fit_no_column_are_refused",
    ),
    Defect(
        "the audit takes a device that works in no step",
        "harness/analysis/step.py",
        '    of_device = pl.col("device").fill_null(-1).alias("of_device")\n',
        '    of_device = pl.lit(-1).alias("of_device")\n',
        "tests/analysis/audit/test_step_ops.py::test_a_device_that_works_in_no_step_has_none",
    ),
    Defect(
        "a report that was cut is whole",
        "harness/captures/ncu/framing.py",
        "if end > size:",
        "if end > size + 4096:",
        "tests/captures/ncu/test_read.py::test_every_cut_is_refused_but_one_between_blocks_which_shows_in_the_count",
    ),
    Defect(
        "fewer ranges than the workload declared are enough",
        "harness/captures/checks.py",
        "if recorded != read:",
        "if recorded < read:",
        "tests/extract/test_run.py::test_a_capture_with_fewer_steps_than_declared_is_unusable",
    ),
    Defect(
        "of two lists of events the second is dropped",
        "harness/captures/formats/json_stream.py",
        "    if kind is around and bytes(decoded.list) != _PLACEHOLDER:\n",
        "    if False:\n",
        "tests/captures/formats/test_json_stream.py::test_what_is_no_such_list_is_refused_in_one_line",
    ),
    Defect(
        "a pickle may call what it names",
        "harness/captures/formats/pickle_guard.py",
        "do = _OPERATIONS.get(operation.name)",
        "do = _OPERATIONS.get(operation.name, _Machine.push)",
        "tests/captures/formats/test_pickle_guard.py::test_what_would_run_code_is_refused_and_does_not_run",
    ),
    Defect(
        "bytes that wait to be free count as live",
        "harness/captures/memory/pools.py",
        "if block.live]",
        "]",
        "tests/captures/memory/test_pools.py::test_each_pool_is_divided_into_what_its_bytes_are",
    ),
)

_JUDGEMENT = (
    Defect(
        "a bound of zero is not met by zero",
        "harness/analysis/verdict.py",
        "else more >= less + margin",
        "else more > less + margin",
        "tests/analysis/test_verdict.py::test_what_is_counted_meets_its_bound_exactly",
    ),
    Defect(
        "one process decides",
        "harness/analysis/verdict.py",
        "LEAST_PROCESSES = 3",
        "LEAST_PROCESSES = 1",
        "tests/analysis/test_verdict.py::test_verdicts",
    ),
    Defect(
        "no clearance of the bound is asked for",
        "harness/analysis/verdict.py",
        "clear = THRESHOLD if sampled else -_EXACT",
        "clear = 0.0 if sampled else -_EXACT",
        "tests/analysis/test_verdict.py::test_sampled_values",
    ),
    Defect(
        "drifting clocks do not widen an interval",
        "harness/analysis/verdict.py",
        "return min(low / factor, low * factor), max(high / factor, high * factor)",
        "return low, high",
        "tests/analysis/test_verdict.py::test_verdicts",
    ),
    Defect(
        "a claim that moved after the run began is tested",
        "harness/analysis/claims.py",
        'if not untested or result.verdict == "not measured":',
        "if True:",
        "tests/analysis/test_claims.py::"
        "test_a_claim_that_the_run_did_not_test_is_described_whatever_was_measured",
    ),
    Defect(
        "a claim that was not tested hides the others",
        "harness/analysis/claims.py",
        "return 0 if tested else 3",
        "return 0 if len(tested) == len(results) else 3",
        "tests/analysis/test_claims.py::test_exit_codes",
    ),
    Defect(
        "an advice beats its baseline alone",
        "harness/analysis/advice.py",
        'if rival and decided != "not measured":',
        "if False:",
        "tests/analysis/test_advice.py::test_an_alternative_that_is_better_anywhere_refutes",
    ),
    Defect(
        "an error divided by n, not by n - 1",
        "harness/analysis/statistics.py",
        "return mean, math.sqrt(squares / (count - 1) / count)",
        "return mean, math.sqrt(squares / count / count)",
        "tests/analysis/test_statistics.py::test_few_rounds_get_students_intervals",
    ),
)

_STORED = (
    Defect(
        "a file is not synced before it takes its place",
        "harness/ground/files.py",
        "        os.fsync(descriptor)\n",
        "        pass\n",
        "tests/test_files.py::test_a_file_is_on_disk_before_it_takes_its_place_and_then_its_name",
    ),
    Defect(
        "a folder's name is not synced",
        "harness/ground/files.py",
        "temporary.replace(target)\n            _sync(target.parent)\n",
        "temporary.replace(target)\n",
        "tests/test_files.py::test_a_file_is_on_disk_before_it_takes_its_place_and_then_its_name",
    ),
    Defect(
        "a name may go on after a safe one",
        "harness/ground/files.py",
        "_SAFE_NAME.fullmatch(name)",
        "_SAFE_NAME.match(name)",
        "tests/test_files.py::test_names_that_are_no_safe_component_are_refused",
    ),
    Defect(
        "an artifact's hash is skipped",
        "harness/store/run_folder.py",
        "if (measured.bytes, measured.sha256) != (recorded.bytes, recorded.sha256):",
        "if measured.bytes != recorded.bytes:",
        "tests/run/test_execute.py::test_an_artifact_that_changed_is_refused",
    ),
    Defect(
        "a deep check looks at sizes alone",
        "harness/report/recorded.py",
        "elif measured.sha256 != recorded.sha256:",
        "elif not measured.sha256:",
        "tests/cli/test_deep.py::test_a_flip_in_a_log_is_told",
    ),
    Defect(
        "a deep check takes any file",
        "harness/report/recorded.py",
        "if name not in listed and not works(name):",
        "if name not in listed and works(name):",
        "tests/report/test_recorded.py::test_what_no_record_lists_is_named",
    ),
    Defect(
        "a page allows any script",
        "harness/view/policy.py",
        "f\"'sha256-{base64.b64encode(digest).decode()}'\"",
        "\"'unsafe-inline'\"",
        "tests/view/test_policy.py::test_the_hashes_are_those_of_the_page_as_it_was_written",
    ),
    Defect(
        "an answer's end is known beforehand",
        "harness/mcp/server.py",
        "secrets.token_hex(16)",
        "'0' * 32",
        "tests/mcp/test_server.py::test_names_that_give_orders_stay_within_the_frame",
    ),
    Defect(
        "a table's hash is skipped",
        "harness/evidence/parquet.py",
        "same = path.stat().st_size == recorded.bytes and files.sha256(path) == recorded.sha256",
        "same = path.stat().st_size == recorded.bytes",
        "tests/evidence/test_parquet.py::test_a_file_that_is_not_the_one_written_is_refused",
    ),
    Defect(
        "a record's seal is skipped",
        "harness/ground/json_text.py",
        "    if seal and seal.groups() != ",
        "    if False and seal and seal.groups() != ",
        "tests/test_files.py::test_a_flip_of_any_bit_is_refused",
    ),
    Defect(
        "a lock that another holds is taken",
        "harness/ground/locks.py",
        "    except BlockingIOError:\n        return None\n",
        "    except BlockingIOError:\n        return _opened(path, mode)\n",
        "tests/test_locks.py::test_one_process_holds_a_lock_and_its_name_is_told",
    ),
)

_WORKED = (
    Defect(
        "a time-out is swallowed",
        "harness/ground/program.py",
        '        return "timeout"\n',
        '        return "ok"\n',
        "tests/test_process.py::test_a_deadline_ends_it_and_all_that_it_started",
    ),
    Defect(
        "what a program started lives on",
        "harness/ground/warden.py",
        "    left = children.end(removing, gently=asked)\n",
        "    left = False\n",
        "tests/test_process.py::test_a_deadline_ends_it_and_all_that_it_started",
    ),
    Defect(
        "a cell sees the whole environment",
        "harness/ground/process.py",
        "if _ALLOWED.fullmatch(key)}",
        "}",
        "tests/test_process.py::test_only_the_allowed_environment_is_seen",
    ),
    Defect(
        "a log has no bound",
        "harness/ground/program.py",
        "kept = block[: max(0, room)]",
        "kept = block",
        "tests/test_process.py::test_a_noisy_process_ends_and_its_log_is_cut",
    ),
    Defect(
        "a failed cell is finished",
        "harness/store/run_folder.py",
        "return record.is_file() and record_of(record.parent).ok",
        "return record.is_file()",
        "tests/run/test_execute.py::test_a_number_that_is_none_fails_its_cell_alone",
    ),
    Defect(
        "an unknown key of a manifest is left out",
        "harness/problem/model.py",
        'ConfigDict(extra="forbid"',
        'ConfigDict(extra="ignore"',
        "tests/problem/test_manifest.py::test_a_mistake_is_told_with_its_place",
    ),
)

_SHOWN = (
    Defect(
        "a table's cell is not escaped",
        "harness/report/escape.py",
        '" | ".join(str(finalize(cell)) for cell in line)',
        '" | ".join(str(cell) for cell in line)',
        "tests/report/test_escape.py::test_a_name_keeps_its_cell_and_makes_no_element",
    ),
    Defect(
        "an attribute is not escaped",
        "harness/report/escape.py",
        r'return Markdown(re.sub(r"[^\w./%+~-]", _shown, plain(text)))',
        "return Markdown(plain(text))",
        "tests/report/test_escape.py::test_a_link_leads_to_its_path_whatever_that_holds",
    ),
    Defect(
        "ESC reaches the terminal",
        "harness/ground/plain.py",
        r'"\x00-\x1f\x7f-\x9f"',
        r'"\x00-\x1a\x7f-\x9f"',
        "tests/test_plain.py::test_no_control_or_format_character_passes",
    ),
)

_ELSEWHERE = (
    Defect(
        "a cell that landed is replaced",
        "harness/run/cluster/job.py",
        "if run.finished(cell.name):",
        "if not run.folder:",
        "tests/run/cluster/test_landing.py::test_a_finished_cell_is_adopted_and_a_failed_one_replaced",
    ),
    Defect(
        "cases that a claim compares are dealt to two GPUs",
        "harness/problem/comparisons.py",
        "leader[second] = first",
        "leader[second] = second",
        "tests/problem/test_comparisons.py::test_cases_that_a_claim_compares_stay_together",
    ),
    Defect(
        "one process is enough to call a metric worse",
        "harness/analysis/regression.py",
        "if min(map(len, rounds)) < LEAST_PROCESSES:",
        "if min(map(len, rounds)) < 1:",
        "tests/analysis/test_regression.py::test_a_time_is_worse_only_by_the_rule_of_verdicts",
    ),
)

DEFECTS = (*_READERS, *_JUDGEMENT, *_STORED, *_WORKED, *_SHOWN, *_ELSEWHERE)
