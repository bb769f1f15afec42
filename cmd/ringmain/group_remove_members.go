package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/group"
	"ringmain/cmd/ringmain/internal/show"
)

// removedMember is one item of the result of group remove-members.
type removedMember struct {
	Group      string   `json:"group"`
	MemberID   string   `json:"member_id,omitempty"`
	InstanceID string   `json:"instance_id,omitempty"`
	Removed    bool     `json:"removed"`
	Error      *outcome `json:"error"`
}

// name is how a sentence calls the member.
func (m *removedMember) name() string {
	if m.InstanceID != "" {
		return fmt.Sprintf("instance %q", m.InstanceID)
	}
	return fmt.Sprintf("member %q", m.MemberID)
}

type memberRemoval struct {
	instances, members []string
	all                bool
	reason             string
}

func newGroupRemoveMembersCmd(t *target) *cobra.Command {
	var o memberRemoval
	cmd := &cobra.Command{
		Use:   "remove-members GROUP",
		Short: "Remove members from a group, so that others get their partitions",
		Long: "Remove members from a group, so that others get their partitions at once. A client\n" +
			"that is alive joins again.",
		Example: "  ringmain group remove-members billing --instance billing-3\n" +
			"  ringmain group remove-members billing --all --reason 'moving to another cluster'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, t, args[0]) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.instances, "instance", nil, "instance id (group.instance.id) of a static member, repeatable")
	f.StringArrayVar(&o.members, "member", nil, "member id, repeatable")
	f.BoolVar(&o.all, "all", false, "all members")
	f.StringVar(&o.reason, "reason", "removed by ringmain group remove-members", "what the coordinator's log says of it")
	cmd.MarkFlagsMutuallyExclusive("all", "instance")
	cmd.MarkFlagsMutuallyExclusive("all", "member")
	return cmd
}

func (o *memberRemoval) run(cmd *cobra.Command, t *target, id string) error {
	if !o.all && len(o.instances)+len(o.members) == 0 {
		return usagef("say whom: --instance, --member or --all")
	}
	ctx, c, done, err := t.ask(cmd)
	if err != nil {
		return err
	}
	defer done()
	items := []removedMember{}
	for _, i := range o.instances {
		items = append(items, removedMember{Group: id, InstanceID: i})
	}
	for _, m := range o.members {
		items = append(items, removedMember{Group: id, MemberID: m})
	}
	if o.all {
		groups, failures, err := group.Describe(ctx, c, []string{id})
		if err != nil {
			return err
		}
		if len(groups) == 0 {
			return errors.Join(failures...)
		}
		for _, m := range groups[0].Members {
			item := removedMember{Group: id, InstanceID: m.InstanceID}
			if m.InstanceID == "" { // one of the two: together they must match, and another may have joined meanwhile
				item.MemberID = m.MemberID
			}
			items = append(items, item)
		}
	}
	failures, err := o.leave(ctx, c, id, items)
	if err != nil {
		return err
	}
	grid := show.NewGrid("GROUP", "MEMBER", "INSTANCE", "RESULT")
	for _, m := range items {
		if m.Removed {
			grid.Row(m.Group, orDash(m.MemberID), orDash(m.InstanceID), "removed")
		}
	}
	return printed(cmd, t, items, grid, failures)
}

// leave sends the one request that removes them, and fills in what came of it.
func (o *memberRemoval) leave(ctx context.Context, c *connection.Conn, id string, items []removedMember) (failures []error, err error) {
	if len(items) == 0 {
		return nil, nil
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = id
	for _, item := range items {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = item.MemberID
		if item.InstanceID != "" {
			m.InstanceID = kmsg.StringPtr(item.InstanceID)
		}
		m.Reason = kmsg.StringPtr(o.reason)
		req.Members = append(req.Members, m)
	}
	what := fmt.Sprintf("remove members of group %q", id)
	resp, err := req.RequestWith(ctx, c.Client)
	if err != nil {
		return nil, connection.RefusedErr(what, c.Explain(err), "")
	}
	if err := connection.Refused(what, resp.ErrorCode, nil); err != nil {
		return nil, err
	}
	if len(resp.Members) != len(items) {
		return nil, fmt.Errorf("%s: the coordinator answered for %d members instead of %d", what, len(resp.Members), len(items))
	}
	for i := range items {
		item := &items[i]
		err := connection.Refused(fmt.Sprintf("remove %s of group %q", item.name(), id), resp.Members[i].ErrorCode, nil)
		item.Removed, item.Error = err == nil, outcomeOf(err)
		if err != nil {
			failures = append(failures, err)
		}
	}
	return failures, nil
}
