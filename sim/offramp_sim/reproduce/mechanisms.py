# SPDX-License-Identifier: Apache-2.0
"""Mechanisms of the five training systems: where the paper describes each, where it is here, and what tests it.

``offramp reproduce mechanisms`` prints them. Sections of G3 and DGS are of Wan's thesis, the others of Zhang's.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Mechanism(NamedTuple):
    """One mechanism.

    Attributes:
        section: section of the paper's design.
        what: the mechanism.
        file: file below ``host/offramp``.
        test: ``folder/file::test`` below ``tests/unit``, without ``test_`` and ``.py``.
    """

    section: str
    what: str
    file: str
    test: str


MECHANISMS: Final = {
    "G3": (
        Mechanism(
            "4.2.1",
            "halo rows forward, their gradients back",
            "graph/halo_plan.py",
            "train/rows::gradients_of_one_process",
        ),
        Mechanism(
            "4.2.1",
            "gradients summed layer by layer, weights after all",
            "workers/reduction.py",
            "train/g3_execution::layers_are_summed_last_first_and_weights_wait_for_all",
        ),
        Mechanism(
            "4.3.1",
            "vertices, edges and rows as costs",
            "graph/balance.py",
            "graph/g3::metis_balances_vertices_and_edges",
        ),
        Mechanism(
            "4.3.2",
            "algorithm 2, literal and guarded",
            "graph/repartition.py",
            "graph/repartition::golden_b_karate_literal",
        ),
        Mechanism(
            "4.4.1",
            "bins within the memory that is given",
            "g3/bins.py",
            "train/g3_execution::bins_within_the_memory_that_is_given",
        ),
        Mechanism(
            "4.4.2",
            "pipelines within and between layers",
            "g3/schedule.py",
            "train/rows::the_same_bits_whatever_arrives_when",
        ),
        Mechanism(
            "4.4.2",
            "bins streamed from mapped files",
            "g3/store.py",
            "train/worker_memory::streamed_bins_have_the_same_bits",
        ),
        Mechanism(
            "4.4.3", "vertices in a walk's order, boundary vertices first", "graph/bins.py", "graph/bins::golden_orders"
        ),
        Mechanism(
            "4.4.3",
            "a bin starts when its rows are there",
            "g3/arrivals.py",
            "train/g3_execution::a_bin_starts_when_its_rows_are_there_and_in_order",
        ),
        Mechanism(
            "4.4.3",
            "limits for each layer, ready vertices packed greedily",
            "graph/ready_packing.py",
            "graph/ready_packing::as_the_definition_says",
        ),
        Mechanism(
            "4.6.1",
            "NeutronStar: states fetched or recomputed",
            "graph/hybrid_plan.py",
            "train/hybrid::losses_and_gradients_of_the_plain_run",
        ),
    ),
    "DGS": (
        Mechanism(
            "3.2.2",
            "one pooled graph, or one for each class",
            "dgs/explanation.py",
            "dgs/explanation::row_zero_is_the_mean_of_local_rows",
        ),
        Mechanism("3.2.3", "GNNExplainer's masks", "dgs/explainer.py", "dgs/explanation::golden_losses_and_gradients"),
        Mechanism(
            "3.2.3",
            "its loss, and the end of an explanation",
            "dgs/explainer.py",
            "dgs/explanation::stopping_by_the_loss_itself",
        ),
        Mechanism(
            "3.2.3",
            "node masks weigh the draws",
            "dgs/sampling.py",
            "dgs/sampling::the_first_weighted_draw_is_in_proportion",
        ),
        Mechanism("3.2.3", "draws shifted to other workers' (ε)", "dgs/sampling.py", "dgs/sampling::sizes_and_clamps"),
        Mechanism(
            "3.2.3", "feature masks choose columns", "dgs/selection.py", "dgs/selection::chosen_columns_of_chosen_rows"
        ),
        Mechanism(
            "3.3",
            "explanations in a process beside the trainer",
            "dgs/sidecar.py",
            "dgs/training::processes_with_a_process_beside_each_are_the_inline_run",
        ),
        Mechanism(
            "3.4",
            "LADIES and its synchronisation",
            "dgs/sampler.py",
            "dgs/training::ladies_synchronises_each_layer_and_dgs_each_period",
        ),
        Mechanism(
            "3.4",
            "FastGCN's importance",
            "dgs/importance.py",
            "dgs/sampler::fastgcn_is_the_squared_norm_of_columns",
        ),
    ),
    "Sylvie": (
        Mechanism(
            "3.4.1",
            "bits by the rank of the degree",
            "sylvie/widths.py",
            "sylvie/widths::bits_of_a_power_law_by_each_ranking",
        ),
        Mechanism(
            "3.5.1",
            "stochastic rounding of rows",
            "sylvie/quantiser.py",
            "sylvie/quantiser::unbiased_within_the_bound_of_the_variance",
        ),
        Mechanism(
            "3.5.1",
            "widths by the rate of the loss's descent",
            "sylvie/orchestrator.py",
            "sylvie/orchestrator::slowing_descent_climbs_one_level_an_epoch_to_the_top_and_stays",
        ),
        Mechanism(
            "3.5.1", "the epoch's width and the vertex's together", "sylvie/widths.py", "sylvie/widths::figure_3_6"
        ),
        Mechanism(
            "3.5.2",
            "rows of this epoch or of the one before",
            "g3/schedule.py",
            "train/sylvie_execution::s15_what_is_read_is_of_this_epoch_or_of_the_one_before",
        ),
        Mechanism(
            "3.5.3", "all workers decide alike", "codecs/sylvie.py", "train/row_codecs::all_workers_decide_alike"
        ),
        Mechanism(
            "3.6.1", "AdaQP", "sylvie/adaqp.py", "sylvie/adaqp::within_the_budget_and_at_most_one_step_from_the_best"
        ),
        Mechanism("3.6.1", "BNS-GCN", "codecs/sampled.py", "train/row_codecs::a_sample_is_the_same_there_and_back"),
        Mechanism("3.6.1", "PipeGCN", "g3/schedule.py", "train/rows::stale_rows_are_those_of_the_epoch_before"),
        Mechanism(
            "3.6.1",
            "SAR, for models of sums",
            "train/propagators/p2p.py",
            "train/propagators::rows_of_one_worker_at_a_time",
        ),
    ),
    "TorchGT": (
        Mechanism(
            "4.3.2",
            "conditions C1 to C3, full attention where one fails",
            "torchgt/conditions.py",
            "torchgt/conditions::policies",
        ),
        Mechanism(
            "4.3.3",
            "clusters of tokens",
            "torchgt/sequence.py",
            "torchgt/sequence::clusters_are_contiguous_and_metis_finds_communities",
        ),
        Mechanism(
            "4.3.3",
            "tokens become heads, and come back",
            "torchgt/parallel.py",
            "torchgt/parallel::tokens_become_heads_and_come_back",
        ),
        Mechanism(
            "4.3.4",
            "sparse clusters become dense blocks",
            "torchgt/reformation.py",
            "torchgt/reformation::the_number_of_blocks_is_that_of_the_pairs",
        ),
        Mechanism(
            "4.3.4",
            "clusters and blocks by L2 and a profile",
            "torchgt/cache.py",
            "torchgt/cache::the_block_with_the_least_time",
        ),
        Mechanism(
            "4.3.4", "the auto tuner's ladder", "torchgt/tuner.py", "torchgt/tuner::the_ladder_is_that_of_the_thesis"
        ),
        Mechanism(
            "4.4",
            "sets of small graphs, as ZINC",
            "torchgt/graph_sets.py",
            "torchgt/sequence::graphs_of_a_sequence_do_not_see_each_other",
        ),
    ),
    "UniTG": (
        Mechanism(
            "2.2.3",
            "a message for each edge: its source's, equation 2.7",
            "models/deep.py",
            "unitg/edge_messages::a_message_per_edge_is_its_sources",
        ),
        Mechanism(
            "5.3.2",
            "microbatches by affinity",
            "unitg/microbatches.py",
            "unitg/microbatches::communities_stay_together",
        ),
        Mechanism("5.3.2", "F-then-B over stages", "unitg/pipeline.py", "unitg/pipeline::equals_a_single_device"),
        Mechanism(
            "5.3.2",
            "reversible layers that recompute",
            "models/reversible.py",
            "unitg/reversible::memory_does_not_grow_with_layers",
        ),
        Mechanism(
            "5.3.3",
            "exits by centrality, by quartiles or value",
            "unitg/lazy_tuner.py",
            "unitg/lazy_tuner::exits_by_value_are_equal_bins_of_the_degrees",
        ),
        Mechanism(
            "5.3.3",
            "embeddings reach the GNN ever more often",
            "unitg/collaborator.py",
            "unitg/collaborator::the_ladder",
        ),
        Mechanism(
            "5.3.4",
            "the language model runs in bubbles",
            "unitg/gate.py",
            "unitg/gate::modules_of_a_run_began_in_windows",
        ),
        Mechanism("5.3.4", "the auto scheduler", "unitg/schedule.py", "unitg/schedule::auto_scheduler"),
        Mechanism(
            "5.4.1", "TAPE: the language model first", "unitg/run.py", "unitg/simulate::one_after_the_other_is_the_sum"
        ),
        Mechanism(
            "5.4.1",
            "GLEM: pseudo-labels in turn, in rounds",
            "unitg/run.py",
            "unitg/rounds::pseudo_labels_of_each_model_teach_the_other",
        ),
    ),
}
"""By system, in the order of the papers' sections."""
